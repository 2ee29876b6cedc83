// The view {x, y, per}: its middle, and plane units a pixel; and the stage's size, which on paper
// is that of print.css.

const PRINTED = [680, 400];
const view = { x: 0, y: 0, per: 1 };
let now = 0, // the level shown
  wide = 50,
  high = 50;
const layers = {};
document.querySelectorAll("#layers input").forEach((b) => {
  layers[b.value] = b.checked;
});
const measure = () => {
  [wide, high] = printing()
    ? PRINTED
    : [Math.max(stage.clientWidth, 50), Math.max(stage.clientHeight, 50)];
};
const resolution = () =>
  printing()
    ? 2 // some 200 dots an inch
    : Math.min(window.devicePixelRatio || 1, 2);
const whole = () => {
  // clear of the frame, of the buttons above and of the scale below
  const pad = Math.min(36, 0.06 * wide),
    above = pad + Math.min(26, 0.06 * high);
  const per = Math.max(
    (box[2] - box[0] || span * 0.2) / (wide - 2 * pad),
    (box[3] - box[1] || span * 0.2) / (high - 2 * above),
  );
  return { x: (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2, per };
};
const onScreen = (x, y) => [
  wide / 2 + (x - view.x) / view.per,
  high / 2 - (y - view.y) / view.per,
];
const onPlane = (px, py) => [
  view.x + (px - wide / 2) * view.per,
  view.y - (py - high / 2) * view.per,
];
const touching = (blocks, x0, y0, x1, y1) => {
  // numbers of the blocks that touch a rectangle
  const found = [];
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
const within = (blocks, pad) => {
  // numbers of the blocks that touch the view
  const [x0, y0] = onPlane(-pad, high + pad),
    [x1, y1] = onPlane(wide + pad, -pad);
  return touching(blocks, x0, y0, x1, y1);
};
const nearestPoint = (px, py, pixels) => {
  // the point of the universe nearest to a place on the screen, -1 if none is so near
  const [x, y] = onPlane(px, py),
    far = pixels * view.per;
  let best = far * far,
    found = -1;
  for (const b of touching(shared.blocks, x - far, y - far, x + far, y + far))
    for (let i = b * BLOCK; i < Math.min(shared.n, (b + 1) * BLOCK); i++) {
      const d = (shared.x[i] - x) ** 2 + (shared.y[i] - y) ** 2;
      if (d <= best) [best, found] = [d, i];
    }
  return found;
};
