// The view: middle, and plane units a pixel.

const view = { x: (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2, per: 1 };
const size = () => [Math.max(stage.clientWidth, 50), Math.max(stage.clientHeight, 50)];
const whole = () => {
  const [w, h] = size(),
    pad = Math.min(36, 0.06 * w);
  const per = Math.max(
    (box[2] - box[0] || span * 0.2) / (w - 2 * pad),
    (box[3] - box[1] || span * 0.2) / (h - 2 * pad),
  );
  return { x: (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2, per };
};
Object.assign(view, whole());
const ranges = () => {
  const [w, h] = size();
  return {
    "xaxis.range": [view.x - (w / 2) * view.per, view.x + (w / 2) * view.per],
    "yaxis.range": [view.y - (h / 2) * view.per, view.y + (h / 2) * view.per],
  };
};
const within = (blocks, pad) => {
  // numbers of the blocks that touch the view
  const [w, h] = size(),
    x0 = view.x - (w / 2 + pad) * view.per,
    x1 = view.x + (w / 2 + pad) * view.per;
  const y0 = view.y - (h / 2 + pad) * view.per,
    y1 = view.y + (h / 2 + pad) * view.per,
    found = [];
  for (let b = 0; 4 * b < blocks.length; b++)
    if (
      blocks[4 * b] <= x1 &&
      blocks[4 * b + 2] >= x0 &&
      blocks[4 * b + 1] <= y1 &&
      blocks[4 * b + 3] >= y0
    )
      found.push(b);
  return found;
};
