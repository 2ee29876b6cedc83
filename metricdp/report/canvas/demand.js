// The demand that was released: sums over squares that follow the zoom, as disks whose area is
// proportional to them, and the size legend.

const CELL = 18, // pixels of a square, to a factor of √2
  heaviest = {};
let shown = null;
const depth = () => Math.max(0, Math.round(Math.log2(span / (CELL * view.per))));
const sums = (level, cell, ix0, iy0, columns, rows, blocks) => {
  const { x, y } = level.at,
    w = level.weight,
    n = columns * rows;
  const mass = new Float32Array(n),
    count = new Uint32Array(n),
    share = new Float64Array(n), // where a disk lies: the mean place by the weights' sizes
    cx = new Float64Array(n),
    cy = new Float64Array(n);
  for (const b of blocks)
    for (let i = b * BLOCK; i < Math.min(level.at.n, (b + 1) * BLOCK); i++) {
      if (!w[i]) continue;
      const ix = Math.floor((x[i] - box[0]) / cell) - ix0,
        iy = Math.floor((y[i] - box[1]) / cell) - iy0;
      if (ix < 0 || iy < 0 || ix >= columns || iy >= rows) continue;
      const at = iy * columns + ix,
        size = Math.abs(w[i]);
      mass[at] += w[i];
      count[at]++;
      share[at] += size;
      cx[at] += size * x[i];
      cy[at] += size * y[i];
    }
  return { mass, count, share, cx, cy, cell, ix0, iy0, columns, rows };
};
const peak = (z) => {
  // the largest sum of any level at this depth
  if (z > 10) return peak(10);
  return (heaviest[z] =
    heaviest[z] ||
    Math.max(
      1e-12,
      ...ready
        .filter((level) => level && level.weight)
        .map((level) => {
          const side = 2 ** z + 1,
            all = Array.from({ length: level.at.blocks.length / 4 }, (_, b) => b);
          return sums(level, span / 2 ** z, 0, 0, side, side, all).mass.reduce(
            (a, b) => (a > b ? a : b),
            0,
          );
        }),
    ));
};
const demand = (level, dpr) => {
  byId("sizes").hidden = true;
  shown = null;
  if (!layers.demand || !level.weight) return;
  const z = depth(),
    cell = span / 2 ** z,
    s = dpr / view.per;
  const [left, bottom] = onPlane(0, high),
    [right, top] = onPlane(wide, 0);
  const ix0 = Math.floor((left - box[0]) / cell) - 1,
    iy0 = Math.floor((bottom - box[1]) / cell) - 1;
  const columns = Math.ceil((right - left) / cell) + 3,
    rows = Math.ceil((top - bottom) / cell) + 3;
  shown = sums(level, cell, ix0, iy0, columns, rows, within(level.at.blocks, 2 * CELL));
  const most = peak(z),
    full = 0.62 * cell * s,
    shade = dark() ? "rgba(240,240,236," : "rgba(24,27,31,";
  pen.fillStyle = shade + "0.4)";
  pen.strokeStyle = shade + "0.55)";
  pen.lineWidth = dpr;
  pen.beginPath();
  for (let at = 0; at < shown.mass.length; at++) {
    const m = shown.mass[at];
    if (m <= 0 || m < 1e-3 * most) continue;
    const px = (shown.cx[at] / shown.share[at] - left) * s,
      py = (top - shown.cy[at] / shown.share[at]) * s;
    const r = Math.max(0.6 * dpr, full * Math.sqrt(Math.min(1, m / most)));
    pen.moveTo(px + r, py);
    pen.arc(px, py, r, 0, 2 * Math.PI);
  }
  pen.fill();
  pen.stroke();
  legend(most, full / dpr);
};
const legend = (most, full) => {
  const key = byId("sizes"),
    nice = round(most),
    px = Math.max(1, 2 * full * Math.sqrt(nice / most)) + "px";
  if (most <= 1e-12) return;
  key.hidden = false;
  Object.assign(key.firstElementChild.style, { width: px, height: px });
  key.lastElementChild.textContent = data.mass + " " + number(nice);
};
const demandAt = (px, py) => {
  // what the square under the pointer sums up
  if (!shown) return null;
  const [x, y] = onPlane(px, py),
    ix = Math.floor((x - box[0]) / shown.cell) - shown.ix0,
    iy = Math.floor((y - box[1]) / shown.cell) - shown.iy0;
  const at = iy * shown.columns + ix,
    inside = ix >= 0 && iy >= 0 && ix < shown.columns && iy < shown.rows;
  if (!inside || !shown.count[at]) return null;
  const over = "\nsum over " + many(shown.count[at], data.noun) + " here";
  return data.mass + " " + amount(shown.mass[at]) + (shown.count[at] > 1 ? over : "");
};
