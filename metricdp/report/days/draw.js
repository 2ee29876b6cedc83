// Below the centers of one day: from where they moved.

const trails = (day) => {
  for (const c of day.centers) {
    if (c.from === null || c.x === null) continue;
    const [x0, y0] = onScreen(...c.from);
    pen.strokeStyle = data.palette[c.color];
    pen.lineWidth = 2.5;
    if (layers.trails) {
      pen.setLineDash([6, 4]);
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(...onScreen(c.x, c.y));
      pen.stroke();
      pen.setLineDash([]);
    }
    if (!layers.before) continue;
    disk(x0, y0, 6);
    pen.stroke();
  }
};
