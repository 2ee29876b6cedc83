// The canvas's ground: graticule, territories, network.
//
// Far out, the edges of a network are counted by pixel; near, those in view are stroked one by one.
// Only blocks of the Z-order that touch the view are looked at.

const pen = ground.getContext("2d"),
  sketch = document.createElement("canvas"),
  ink = sketch.getContext("2d");
let screen = { x: new Float32Array(0), y: new Float32Array(0) },
  tally = new Uint8Array(0),
  last = new Int32Array(0),
  frame = null;
let drawn = "",
  tallied = "",
  weight = 1;
const VECTORS = 9000,
  WRITES = 2500000; // edges stroked one by one; pixels written at most
const territories = (level, s, left, top) => {
  if (!layers.territories || !level.image) return;
  const p = level.shade;
  pen.globalAlpha = tails.length || level.at.n === shared.n ? 0.2 : 0.34;
  pen.drawImage(level.image, (p.x - left) * s, (top - p.y) * s, p.width * s, p.height * s);
  pen.globalAlpha = 1;
};
const plain = (W, H, s, left, top, dpr) => {
  // a plain basemap: frame and graticule
  const step = round((110 * dpr) / s);
  pen.lineWidth = dpr;
  pen.strokeStyle = "rgba(100,107,115,.18)";
  pen.beginPath();
  for (let v = Math.ceil(left / step); v * step < left + W / s; v++) {
    const px = (v * step - left) * s;
    pen.moveTo(px, 0);
    pen.lineTo(px, H);
  }
  for (let v = Math.floor(top / step); v * step > top - H / s; v--) {
    const py = (top - v * step) * s;
    pen.moveTo(0, py);
    pen.lineTo(W, py);
  }
  pen.stroke();
  pen.strokeStyle = "rgba(100,107,115,.7)";
  pen.strokeRect(
    (box[0] - left) * s,
    (top - box[3]) * s,
    (box[2] - box[0]) * s,
    (box[3] - box[1]) * s,
  );
};
const network = (level, W, H, s, left, top, dpr) => {
  const n = shared.n,
    { x, y } = road,
    hue = layers.territories ? level.hue : null,
    dots = layers.network || (hue && !level.image); // without them no territory would be seen
  if (!n || !(layers.network || dots)) return;
  if (screen.x.length !== x.length)
    screen = { x: new Float32Array(x.length), y: new Float32Array(x.length) };
  const sx = screen.x,
    sy = screen.y,
    seen = within(edgeBlocks, 2),
    key = [W, H, s, left, top].join();
  if (key !== drawn)
    for (let i = 0; i < x.length; i++) {
      sx[i] = (x[i] - left) * s;
      sy[i] = (top - y[i]) * s;
    }
  const count = Math.min(seen.length * BLOCK, tails.length),
    lines = layers.network && tails.length > 0;
  if (lines && count <= VECTORS) strokes(seen, hue, sx, sy, s, dpr);
  else if (lines) {
    if (key !== drawn || key !== tallied) rasterize(seen, sx, sy, W, H, s);
    tallied = key;
    color(hue);
  }
  drawn = key;
  if (!lines || (span / Math.sqrt(n)) * s > 9 * dpr) vertices(hue, sx, sy, s, dpr);
};
const bunched = () => Array.from({ length: palette.length + 1 }, () => new Path2D());
const strokes = (seen, hue, sx, sy, s, dpr) => {
  // few edges: lines proper, one path a color
  const paths = bunched();
  for (const b of seen)
    for (let e = b * BLOCK; e < Math.min(tails.length, (b + 1) * BLOCK); e++) {
      const a = tails[e],
        c = heads[e],
        own = hue && hue[road.firsts[e]],
        p = paths[hue && (data.graded || own === hue[road.seconds[e]]) ? own : palette.length];
      p.moveTo(sx[a], sy[a]);
      p.lineTo(sx[c], sy[c]);
    }
  const crowded = data.layout && tails.length > 2.5 * shared.n && tails.length > 2000;
  const zoom = Math.sqrt(((span / Math.sqrt(shared.n)) * s) / dpr / 6);
  pen.lineWidth = dpr * (crowded ? 0.8 : Math.max(0.9, Math.min(3, zoom)));
  const alpha = crowded ? Math.max(0.08, Math.min(0.4, 4500 / tails.length)) : 0.85;
  paths.forEach((p, c) => {
    pen.strokeStyle = css(c < palette.length ? palette[c] : GREY, alpha);
    pen.stroke(p);
  });
};
const rasterize = (seen, sx, sy, W, H, s) => {
  // many edges: how many a pixel has, and the last one
  if (tally.length !== W * H) {
    tally = new Uint8Array(W * H);
    last = new Int32Array(W * H);
    sketch.width = W;
    sketch.height = H;
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
      h = hue ? hue[road.firsts[e]] : -1;
    out[i] =
      (h >= 0 && (data.graded || h === hue[road.seconds[e]]) ? swapped[h] : grey) +
      alpha[tally[i]];
  }
  ink.putImageData(frame, 0, 0);
  pen.drawImage(sketch, 0, 0);
};
const vertices = (hue, sx, sy, s, dpr) => {
  const seen = within(shared.blocks, 4),
    gap = ((span / Math.sqrt(shared.n)) * s) / dpr;
  const r = dpr * Math.max(0.8, Math.min(4, (tails.length ? 0.09 : 0.14) * gap)),
    paths = bunched(),
    small = r < 1.6 * dpr;
  for (const b of seen)
    for (let i = b * BLOCK; i < Math.min(shared.n, (b + 1) * BLOCK); i++) {
      const p = paths[hue ? hue[i] : palette.length];
      if (small) p.rect(sx[i] - r, sy[i] - r, 2 * r, 2 * r);
      else {
        p.moveTo(sx[i] + r, sy[i]);
        p.arc(sx[i], sy[i], r, 0, 2 * Math.PI);
      }
    }
  paths.forEach((p, c) => {
    pen.fillStyle = css(c < palette.length ? palette[c] : GREY, 0.9);
    pen.fill(p);
  });
};
