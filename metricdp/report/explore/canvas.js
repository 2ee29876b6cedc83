// The canvas below the centers: network, territories and coreset, drawn as the zoom needs.
//
// Far out, the edges of a network are counted by pixel; near, those in view are stroked one by one.
// The coreset is summed over squares of some 13 pixels. Both look only at blocks of the Z-order
// that touch the view.

const paper = ground.getContext("2d"),
  sheet = document.createElement("canvas"),
  ink = sheet.getContext("2d");
let screen = { x: new Float32Array(0), y: new Float32Array(0) },
  tally = new Uint8Array(0),
  last = new Int32Array(0),
  frame = null;
let drawn = "",
  weight = 1;
const VECTORS = 9000,
  WRITES = 2500000; // edges stroked one by one; pixels written at most
const draw = () => {
  const level = ready[now],
    [w, h] = size(),
    dpr = Math.min(window.devicePixelRatio || 1, 2);
  if (!level) return;
  const W = Math.round(w * dpr),
    H = Math.round(h * dpr);
  if (ground.width !== W || ground.height !== H) {
    ground.width = W;
    ground.height = H;
  }
  paper.setTransform(1, 0, 0, 1, 0, 0);
  paper.clearRect(0, 0, W, H);
  const s = dpr / view.per,
    left = view.x - W / 2 / s,
    top = view.y + H / 2 / s;
  if (!tails.length) plain(W, H, s, left, top, dpr);
  if (layers.territories && level.image) {
    const p = level.shade;
    paper.globalAlpha = tails.length || level.at.n === shared.n ? 0.2 : 0.34;
    paper.drawImage(level.image, (p.x - left) * s, (top - p.y) * s, p.width * s, p.height * s);
    paper.globalAlpha = 1;
  }
  if (layers.network && shared.n) network(level, W, H, s, left, top, dpr);
  if (layers.coreset) dots(level, w, h, dpr);
  drawScale(view.per, data.unit);
};
const plain = (W, H, s, left, top, dpr) => {
  // a plain basemap: frame and graticule
  const goal = (110 * dpr) / s,
    ten = Math.pow(10, Math.floor(Math.log10(goal)));
  const step = ten * (goal / ten >= 5 ? 5 : goal / ten >= 2 ? 2 : 1);
  paper.lineWidth = dpr;
  paper.strokeStyle = "rgba(100,107,115,.18)";
  paper.beginPath();
  for (let v = Math.ceil(left / step); v * step < left + W / s; v++) {
    const px = (v * step - left) * s;
    paper.moveTo(px, 0);
    paper.lineTo(px, H);
  }
  for (let v = Math.floor(top / step); v * step > top - H / s; v--) {
    const py = (top - v * step) * s;
    paper.moveTo(0, py);
    paper.lineTo(W, py);
  }
  paper.stroke();
  paper.strokeStyle = "rgba(100,107,115,.7)";
  paper.strokeRect(
    (box[0] - left) * s,
    (top - box[3]) * s,
    (box[2] - box[0]) * s,
    (box[3] - box[1]) * s,
  );
};
const network = (level, W, H, s, left, top, dpr) => {
  const { n, x, y } = shared,
    hue = layers.territories ? level.hue : null;
  if (screen.x.length !== n) screen = { x: new Float32Array(n), y: new Float32Array(n) };
  const sx = screen.x,
    sy = screen.y,
    seen = within(edgeBlocks, 2),
    key = [W, H, s, left, top].join();
  if (key !== drawn)
    for (let i = 0; i < n; i++) {
      sx[i] = (x[i] - left) * s;
      sy[i] = (top - y[i]) * s;
    }
  const count = Math.min(seen.length * BLOCK, tails.length);
  if (tails.length && count <= VECTORS) strokes(seen, hue, sx, sy, s, dpr);
  else if (tails.length) {
    if (key !== drawn) rasterize(seen, sx, sy, W, H, s);
    color(hue);
  }
  drawn = key;
  if (!tails.length || (span / Math.sqrt(n)) * s > 9 * dpr) vertices(hue, sx, sy, W, H, s, dpr);
};
const bunched = () => Array.from({ length: palette.length + 1 }, () => new Path2D());
const strokes = (seen, hue, sx, sy, s, dpr) => {
  // few edges: lines proper, one path a color
  const paths = bunched();
  for (const b of seen)
    for (let e = b * BLOCK; e < Math.min(tails.length, (b + 1) * BLOCK); e++) {
      const a = tails[e],
        c = heads[e],
        p = paths[hue && hue[a] === hue[c] ? hue[a] : palette.length];
      p.moveTo(sx[a], sy[a]);
      p.lineTo(sx[c], sy[c]);
    }
  const crowded = data.layout && tails.length > 2.5 * shared.n && tails.length > 2000;
  const zoom = Math.sqrt(((span / Math.sqrt(shared.n)) * s) / dpr / 6);
  paper.lineWidth = dpr * (crowded ? 0.8 : Math.max(0.9, Math.min(3, zoom)));
  const alpha = crowded ? Math.max(0.08, Math.min(0.4, 4500 / tails.length)) : 0.85;
  paths.forEach((p, c) => {
    paper.strokeStyle = css(c < palette.length ? palette[c] : GREY, alpha);
    paper.stroke(p);
  });
};
const rasterize = (seen, sx, sy, W, H, s) => {
  // many edges: how many a pixel has, and the last one
  if (tally.length !== W * H) {
    tally = new Uint8Array(W * H);
    last = new Int32Array(W * H);
    sheet.width = W;
    sheet.height = H;
    frame = ink.createImageData(W, H);
  }
  tally.fill(0);
  const share = seen.length / (edgeBlocks.length / 4),
    writes = Math.max(1, share * (inkLength * s + tails.length));
  const stride = Math.max(1, Math.ceil(writes / WRITES));
  let all = 0;
  for (const b of seen)
    for (let e = b * BLOCK; e < Math.min(tails.length, (b + 1) * BLOCK); e += stride) {
      const a = tails[e],
        c = heads[e];
      let x0 = sx[a],
        y0 = sy[a],
        dx = sx[c] - x0,
        dy = sy[c] - y0;
      if (
        x0 < 0 ||
        y0 < 0 ||
        x0 >= W ||
        y0 >= H ||
        x0 + dx < 0 ||
        y0 + dy < 0 ||
        x0 + dx >= W ||
        y0 + dy >= H
      ) {
        let t0 = 0,
          t1 = 1;
        for (const [p, q] of [
          [-dx, x0],
          [dx, W - 1 - x0],
          [-dy, y0],
          [dy, H - 1 - y0],
        ]) {
          // Liang & Barsky
          if (p === 0) {
            if (q < 0) t1 = -1;
          } else if (p < 0) t0 = Math.max(t0, q / p);
          else t1 = Math.min(t1, q / p);
        }
        if (t0 > t1) continue;
        x0 += t0 * dx;
        y0 += t0 * dy;
        dx *= t1 - t0;
        dy *= t1 - t0;
      }
      const steps = Math.ceil(Math.max(Math.abs(dx), Math.abs(dy))) || 1,
        mx = dx / steps,
        my = dy / steps;
      all += steps;
      for (let i = 0; i < steps; i++) {
        const at = (y0 | 0) * W + (x0 | 0);
        if (tally[at] < 255) tally[at]++;
        last[at] = e;
        x0 += mx;
        y0 += my;
      }
    }
  const fill = all / (W * H);
  weight = data.layout
    ? Math.max(0.06, Math.min(0.85, 0.14 / fill))
    : Math.max(0.28, Math.min(0.85, 0.5 / Math.sqrt(fill)));
};
const color = (hue) => {
  const alpha = Uint32Array.from(
    { length: 256 },
    (_, c) => Math.round(255 * (1 - Math.pow(1 - weight, c))) * 0x1000000,
  );
  const swap = (c) => ((c & 255) << 16) | (c & 0xff00) | (c >> 16),
    swapped = Uint32Array.from(palette, swap),
    grey = swap(GREY);
  const out = new Uint32Array(frame.data.buffer);
  for (let i = 0; i < out.length; i++) {
    if (!tally[i]) {
      out[i] = 0;
      continue;
    }
    const e = last[i],
      h = hue ? hue[tails[e]] : -1;
    out[i] = (h >= 0 && h === hue[heads[e]] ? swapped[h] : grey) + alpha[tally[i]];
  }
  ink.putImageData(frame, 0, 0);
  paper.drawImage(sheet, 0, 0);
};
const vertices = (hue, sx, sy, W, H, s, dpr) => {
  const seen = within(shared.blocks, 4),
    wide = ((span / Math.sqrt(shared.n)) * s) / dpr;
  const r = dpr * Math.max(0.8, Math.min(4, (tails.length ? 0.09 : 0.14) * wide)),
    paths = bunched();
  for (const b of seen)
    for (let i = b * BLOCK; i < Math.min(shared.n, (b + 1) * BLOCK); i++)
      paths[hue ? hue[i] : palette.length].rect(sx[i] - r, sy[i] - r, 2 * r, 2 * r);
  paths.forEach((p, c) => {
    paper.fillStyle = css(c < palette.length ? palette[c] : GREY, 0.9);
    paper.fill(p);
  });
};

// ---- the coreset: sums over a grid of cells that follow the zoom
const CELL = 13,
  heaviest = {};
let shown = null;
const depth = () => Math.max(0, Math.round(Math.log2(span / (CELL * view.per))));
const sums = (level, cell, ix0, iy0, columns, rows, blocks) => {
  const { x, y } = level.at,
    w = level.weight,
    mass = new Float32Array(columns * rows),
    count = new Uint32Array(columns * rows);
  const cx = new Float64Array(columns * rows),
    cy = new Float64Array(columns * rows);
  for (const b of blocks)
    for (let i = b * BLOCK; i < Math.min(level.at.n, (b + 1) * BLOCK); i++) {
      if (!(w[i] > 0)) continue;
      const ix = Math.floor((x[i] - box[0]) / cell) - ix0,
        iy = Math.floor((y[i] - box[1]) / cell) - iy0;
      if (ix < 0 || iy < 0 || ix >= columns || iy >= rows) continue;
      const at = iy * columns + ix;
      mass[at] += w[i];
      count[at]++;
      cx[at] += w[i] * x[i];
      cy[at] += w[i] * y[i];
    }
  return { mass, count, cx, cy, cell, ix0, iy0, columns, rows };
};
const peak = (z) => {
  // the largest sum of any level at this depth
  if (z > 10) return peak(10);
  return (heaviest[z] =
    heaviest[z] ||
    Math.max(
      1e-12,
      ...ready.filter(Boolean).map((level) => {
        const side = 2 ** z + 1,
          all = Array.from({ length: level.at.blocks.length / 4 }, (_, b) => b);
        return sums(level, span / 2 ** z, 0, 0, side, side, all).mass.reduce(
          (a, b) => (a > b ? a : b),
          0,
        );
      }),
    ));
};
const dots = (level, w, h, dpr) => {
  const z = depth(),
    cell = span / 2 ** z,
    s = dpr / view.per;
  const ix0 = Math.floor((view.x - (w / 2) * view.per - box[0]) / cell) - 1;
  const iy0 = Math.floor((view.y - (h / 2) * view.per - box[1]) / cell) - 1;
  const columns = Math.ceil((w * view.per) / cell) + 3,
    rows = Math.ceil((h * view.per) / cell) + 3;
  shown = sums(level, cell, ix0, iy0, columns, rows, within(level.at.blocks, 2 * CELL));
  const most = peak(z),
    full = 0.62 * cell * s,
    left = view.x - (w / 2) * view.per,
    top = view.y + (h / 2) * view.per;
  paper.fillStyle = dark ? "rgba(240,240,236,.8)" : "rgba(24,27,31,.8)";
  paper.beginPath();
  for (let at = 0; at < shown.mass.length; at++) {
    const m = shown.mass[at];
    if (m < 1e-3 * most) continue;
    const px = (shown.cx[at] / m - left) * s,
      py = (top - shown.cy[at] / m) * s;
    const r = Math.max(0.6 * dpr, full * Math.sqrt(Math.min(1, m / most)));
    paper.moveTo(px + r, py);
    paper.arc(px, py, r, 0, 2 * Math.PI);
  }
  paper.fill();
};
