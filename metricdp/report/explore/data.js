// Reading the page's data: public points and edges, and each level's coreset, colors and picture.
//
// The scripts of a page are one function's body in pieces: common, then data, view, canvas, words,
// controls; each uses what those before it define.

const ground = byId("ground"),
  slider = byId("level");
const data = JSON.parse(byId("map-data").textContent);
if (typeof DecompressionStream === "undefined") {
  byId("problem").textContent = "This page needs a browser of 2023 or later.";
  byId("problem").hidden = false;
  return;
}
const bytes = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text),
    out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
};
const inflated = (text) =>
  new Response(new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate")));
const integers = async (p) => {
  // the inverse of drawing.squeezed
  const n = p.n,
    b = new Uint8Array(await inflated(p.z).arrayBuffer()),
    out = new Int32Array(n);
  for (let i = 0, v = 0; i < n; i++) {
    const u = (b[i] | (b[n + i] << 8) | (b[2 * n + i] << 16) | (b[3 * n + i] << 24)) >>> 0;
    out[i] = v += u & 1 ? -((u + 1) / 2) : u / 2;
  }
  return out;
};
const floats = (p) => new Float32Array(bytes(p.bdata).buffer);

// ---- what is drawn
const box = data.box,
  span = Math.max(box[2] - box[0], box[3] - box[1]) || 1,
  unit = span / (data.steps - 1);
const BLOCK = 512;
const bounded = (n, low, high, left, right) => {
  // boxes around every BLOCK of a list
  const blocks = new Float32Array(4 * Math.ceil(n / BLOCK));
  for (let b = 0; 4 * b < blocks.length; b++) {
    let x0 = Infinity,
      x1 = -Infinity,
      y0 = Infinity,
      y1 = -Infinity;
    for (let i = b * BLOCK; i < Math.min(n, (b + 1) * BLOCK); i++) {
      if (left(i) < x0) x0 = left(i);
      if (right(i) > x1) x1 = right(i);
      if (low(i) < y0) y0 = low(i);
      if (high(i) > y1) y1 = high(i);
    }
    blocks.set([x0, y0, x1, y1], 4 * b);
  }
  return blocks;
};
const points = async (px, py) => {
  const [ix, iy] = await Promise.all([integers(px), integers(py)]),
    n = ix.length;
  const x = new Float32Array(n),
    y = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    x[i] = box[0] + unit * ix[i];
    y[i] = box[1] + unit * iy[i];
  }
  const fx = (i) => x[i],
    fy = (i) => y[i];
  return { n, x, y, blocks: bounded(n, fy, fy, fx, fx) };
};
const opened = [];
const open = (i) =>
  (opened[i] =
    opened[i] ||
    (async () => {
      // a level's arrays and picture, read once
      const l = data.levels[i];
      const [at, index, label, image] = await Promise.all([
        l.x ? points(l.x, l.y) : shared,
        integers(l.weight.index),
        l.label ? integers(l.label) : null,
        picture(l.shade),
      ]);
      const values = floats(l.weight.values),
        weight = Float32Array.from(index, (j) => values[j]);
      const hue = label && Uint8Array.from(label, (c) => l.centers[c].color);
      return (ready[i] = { at, weight, hue, image, shade: l.shade });
    })());
const ready = [];
const picture = async (shade) => {
  if (!shade) return null;
  const image = new Image();
  image.src = shade.source;
  await image.decode();
  return image;
};
let now = Number(slider.value),
  tails,
  heads,
  edgeBlocks,
  shared,
  inkLength = 0;
shared = points(data.x, data.y);
{
  const [at, t, reach] = await Promise.all([shared, integers(data.tails), integers(data.reach)]);
  shared = at;
  tails = t;
  heads = reach;
  for (let e = 0; e < tails.length; e++) heads[e] += tails[e];
  const { x, y } = at;
  edgeBlocks = bounded(
    tails.length,
    (e) => Math.min(y[tails[e]], y[heads[e]]),
    (e) => Math.max(y[tails[e]], y[heads[e]]),
    (e) => Math.min(x[tails[e]], x[heads[e]]),
    (e) => Math.max(x[tails[e]], x[heads[e]]),
  );
  for (let e = 0; e < tails.length; e++)
    inkLength += Math.max(Math.abs(x[tails[e]] - x[heads[e]]), Math.abs(y[tails[e]] - y[heads[e]]));
  await open(now);
}
const layers = {};
document.querySelectorAll("#layers input").forEach((b) => {
  layers[b.value] = b.checked;
});
if (window.matchMedia("(max-width: 760px)").matches) byId("layers").open = false;
const palette = data.palette.map((c) => parseInt(c.slice(1), 16)),
  GREY = 0x8b9095;
const css = (c, a) =>
  "rgba(" + (c >> 16) + "," + ((c >> 8) & 255) + "," + (c & 255) + "," + a + ")";
