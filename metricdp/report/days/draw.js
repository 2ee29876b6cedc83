// The canvas: the public network, the centers of one day, and where they moved from.

const data = JSON.parse(byId("map-data").textContent),
  ground = byId("ground"),
  paper = ground.getContext("2d");
const floats = (p) =>
  new Float32Array(Uint8Array.from(atob(p.bdata), (c) => c.charCodeAt(0)).buffer);
const ends = floats(data.edges), // x, y, x, y of every edge
  spots = floats(data.points),
  box = data.box;
const layers = { network: true, trails: true, before: true };
const view = { x: 0, y: 0, per: 1 };
let now = data.days.length - 1,
  circles = [];
const size = () => [Math.max(1, stage.clientWidth), Math.max(1, stage.clientHeight)];
const whole = () => {
  const [w, h] = size(),
    wide = box[2] - box[0],
    high = box[3] - box[1];
  const per = 1.1 * Math.max(wide / w, high / h) || 1;
  return { x: (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2, per };
};
const place = (c, w, h) => [w / 2 + (c.x - view.x) / view.per, h / 2 - (c.y - view.y) / view.per];

const network = (w, h) => {
  paper.strokeStyle = dark ? "#5a6068" : "#c4c3bd";
  paper.lineWidth = 1;
  paper.beginPath();
  for (let i = 0; i < ends.length; i += 4) {
    const [x0, y0] = place({ x: ends[i], y: ends[i + 1] }, w, h),
      [x1, y1] = place({ x: ends[i + 2], y: ends[i + 3] }, w, h);
    if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > w) continue;
    if (Math.max(y0, y1) < 0 || Math.min(y0, y1) > h) continue;
    paper.moveTo(x0, y0);
    paper.lineTo(x1, y1);
  }
  paper.stroke();
  if (ends.length) return;
  paper.fillStyle = dark ? "#5a6068" : "#c4c3bd";
  for (let i = 0; i < spots.length; i += 2) {
    const [x, y] = place({ x: spots[i], y: spots[i + 1] }, w, h);
    paper.fillRect(x - 1, y - 1, 2, 2);
  }
};
const trails = (day, w, h) => {
  // from where a center was on the day before
  for (const c of day.centers) {
    if (c.from === null || c.x === null) continue;
    const [x0, y0] = place({ x: c.from[0], y: c.from[1] }, w, h),
      [x1, y1] = place(c, w, h);
    paper.strokeStyle = data.palette[c.color];
    paper.lineWidth = 2.5;
    paper.setLineDash([6, 4]);
    paper.beginPath();
    paper.moveTo(x0, y0);
    paper.lineTo(x1, y1);
    if (layers.trails) paper.stroke();
    paper.setLineDash([]);
    if (!layers.before) continue;
    paper.beginPath();
    paper.arc(x0, y0, 6, 0, 2 * Math.PI);
    paper.stroke();
  }
};
const disk = (c, mark, i, w, h) => {
  const [x, y] = place(c, w, h),
    one = (values) => (Array.isArray(values) ? values[i] : values),
    r = one(mark["marker.size"]) / 2;
  paper.fillStyle = "#fff";
  paper.beginPath();
  paper.arc(x, y, r + 3, 0, 2 * Math.PI);
  paper.fill();
  paper.fillStyle = data.palette[c.color];
  paper.strokeStyle = "#22262b";
  paper.lineWidth = 2;
  paper.beginPath();
  paper.arc(x, y, r, 0, 2 * Math.PI);
  paper.fill();
  paper.stroke();
  circles.push({ x, y, r: r + 3, c });
  if (!Array.isArray(mark.text)) return;
  const beside = BESIDE[one(mark.textposition)] || [0, 0];
  paper.fillStyle = one(mark["textfont.color"]);
  paper.font = "650 " + one(mark["textfont.size"]) + "px system-ui, sans-serif";
  paper.textAlign = "center";
  paper.textBaseline = "middle";
  paper.fillText(c.rank + 1, x + 14 * beside[0], y - 14 * beside[1]);
};
const draw = () => {
  const [w, h] = size(),
    ratio = Math.min(window.devicePixelRatio || 1, 2),
    day = data.days[now];
  ground.width = Math.round(w * ratio);
  ground.height = Math.round(h * ratio);
  paper.setTransform(ratio, 0, 0, ratio, 0, 0);
  paper.fillStyle = getComputedStyle(stage).backgroundColor;
  paper.fillRect(0, 0, w, h);
  if (layers.network) network(w, h);
  trails(day, w, h);
  const placed = day.centers.filter((c) => c.x !== null),
    mark = markers(
      placed.map((c) => ({ ...c, rank: c.rank + 1 })),
      view.per,
    );
  circles = [];
  placed.forEach((c, i) => disk(c, mark, i, w, h));
  drawScale(view.per, data.unit);
};
