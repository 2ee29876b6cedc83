// Reading the page's data: public points and edges, and what each level adds (days are levels too).
//
// Points lie along a Z-order; BLOCK of them, or of edges, share a box, so that what is out of view
// is skipped.

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
const steps = async (p) => {
  // a quantity on a grid of steps; -1 is infinite
  return Float64Array.from(await integers(p), (v) => (v < 0 ? Infinity : v * p.step));
};

// ---- what is drawn
const box = data.box,
  span = Math.max(box[2] - box[0], box[3] - box[1]) || 1,
  unit = span / (data.steps - 1);
const BLOCK = 512;
const bounded = (n, low, high, left, right) => {
  // boxes around every BLOCK of a list
  const blocks = new Float64Array(4 * Math.ceil(n / BLOCK));
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
  const x = new Float64Array(n),
    y = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    x[i] = box[0] + unit * ix[i];
    y[i] = box[1] + unit * iy[i];
  }
  const fx = (i) => x[i],
    fy = (i) => y[i];
  return { n, x, y, blocks: bounded(n, fy, fy, fx, fx) };
};
const requested = [],
  ready = [];
const picture = async (shade) => {
  if (!shade) return null;
  const image = new Image();
  image.src = shade.source;
  await image.decode();
  return image;
};
const open = (i) =>
  (requested[i] =
    requested[i] ||
    (async () => {
      // a level's arrays and picture, read once
      const l = data.levels[i];
      const [at, index, label, image] = await Promise.all([
        l.x ? points(l.x, l.y) : shared,
        l.weight ? integers(l.weight.index) : null,
        l.label ? integers(l.label) : null,
        picture(l.shade),
      ]);
      const values = l.weight && floats(l.weight.values),
        weight = index && Float32Array.from(index, (j) => values[j]);
      const hue = label && Uint8Array.from(label, (c) => l.centers[c].color);
      return (ready[i] = { ...l, at, weight, label, hue, image });
    })());

const [shared, firsts, reach] = await Promise.all([
  points(data.x, data.y),
  integers(data.tails),
  integers(data.reach),
]);
const seconds = reach.map((r, e) => r + firsts[e]);
const bent = async (bends) => {
  // edges in straight pieces, whose ends are points or, after these, places where edges bend;
  // and the two points that each piece's edge joins
  if (!bends) return { x: shared.x, y: shared.y, tails: firsts, heads: seconds, firsts, seconds };
  const [count, bx, by] = await Promise.all([bends.count, bends.x, bends.y].map(integers));
  const n = shared.n,
    pieces = firsts.length + bx.length;
  const places = (own, more, from) => {
    const all = new Float64Array(n + more.length);
    all.set(own);
    more.forEach((v, i) => (all[n + i] = from + unit * v));
    return all;
  };
  const [tails, heads, a, b] = Array.from({ length: 4 }, () => new Int32Array(pieces));
  for (let e = 0, i = 0, p = 0; e < firsts.length; e++)
    for (let j = 0; j <= count[e]; j++, p++) {
      tails[p] = j ? n + i - 1 : firsts[e];
      heads[p] = j < count[e] ? n + i++ : seconds[e];
      [a[p], b[p]] = [firsts[e], seconds[e]];
    }
  const x = places(shared.x, bx, box[0]),
    y = places(shared.y, by, box[1]);
  return { x, y, tails, heads, firsts: a, seconds: b };
};
const road = await bent(data.bends),
  { tails, heads } = road;
const edgeBlocks = bounded(
  tails.length,
  (e) => Math.min(road.y[tails[e]], road.y[heads[e]]),
  (e) => Math.max(road.y[tails[e]], road.y[heads[e]]),
  (e) => Math.min(road.x[tails[e]], road.x[heads[e]]),
  (e) => Math.max(road.x[tails[e]], road.x[heads[e]]),
);
const inkLength = tails.reduce((sum, a, e) => {
  const dx = road.x[a] - road.x[heads[e]],
    dy = road.y[a] - road.y[heads[e]];
  return sum + Math.max(Math.abs(dx), Math.abs(dy));
}, 0);
