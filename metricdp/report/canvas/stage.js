// The stage of every page: its elements and colors, numbers as text, the scale bar, hover text.
//
// A page's script is one asynchronous function's body in pieces: stage, data, view, network,
// demand, centers, steer, then the page's own. Each uses what those before it define, and from
// those after it only what is not called before `begin`.

const byId = (id) => document.getElementById(id);
const stage = byId("stage"),
  map = byId("map"),
  tip = byId("tip"),
  ground = byId("ground"),
  data = JSON.parse(byId("map-data").textContent);
if (typeof DecompressionStream === "undefined") {
  byId("problem").textContent = "This page needs a browser of 2023 or later.";
  byId("problem").hidden = false;
  return;
}

// ---- colors: those of the screen, and light ones on paper
const night = window.matchMedia("(prefers-color-scheme: dark)"),
  onPaper = window.matchMedia("print");
let sheet = false; // between beforeprint and afterprint
const printing = () => sheet || onPaper.matches;
const dark = () => night.matches && !printing();
const palette = data.palette.map((c) => parseInt(c.slice(1), 16)),
  GREY = 0x8b9095;
const css = (c, a) =>
  "rgba(" + (c >> 16) + "," + ((c >> 8) & 255) + "," + (c & 255) + "," + a + ")";

// ---- numbers
const round = (most) => {
  // the largest 1, 2 or 5 times a power of ten that is no more
  const ten = Math.pow(10, Math.floor(Math.log10(most)));
  return ten * (most / ten >= 5 ? 5 : most / ten >= 2 ? 2 : 1);
};
const number = (v) =>
  Math.abs(v) >= 1e15
    ? String(Number(v.toPrecision(4)))
    : Math.abs(v) >= 100
      ? Math.round(v).toLocaleString("en-US")
      : String(Number(v.toPrecision(3)));
const amount = (v) => (Math.abs(v) < 0.005 ? "0" : number(v)); // of demand: noise has no digits
const UNITS = { m: [1, "m"], km: [1000, "m"], s: [1, "s"], min: [60, "s"], h: [3600, "s"] };
const STEPS = {
  m: [
    [1000, 1000, "km"],
    [0, 1, "m"],
  ],
  s: [
    [7200, 3600, "h"],
    [120, 60, "min"],
    [0, 1, "s"],
  ],
};
const inWords = (v, unit) => {
  // a distance in the unit that suits it, as metrics/units.py says it
  if (!UNITS[unit]) return number(v) + (unit ? " " + unit : "");
  const [size, kind] = UNITS[unit],
    all = v * size;
  const [, step, name] = STEPS[kind].find(([least]) => all >= 0.9995 * least);
  return number(all / step) + " " + name;
};
const many = (n, word) => n.toLocaleString("en-US") + " " + word;

// ---- the scale bar, and text at the pointer
const drawScale = (per, unit, wide) => {
  // a bar of a round length; unit null: the picture has no scale
  const nice = round(per * Math.min(140, 0.3 * wide)),
    bar = byId("scale");
  if (unit === null || !isFinite(nice) || nice <= 0) return;
  const meters = unit === "km" && nice < 1;
  const length = Number((meters ? nice * 1000 : nice).toPrecision(3)),
    plain = length < 1e-4 || length >= 1e9;
  bar.hidden = false;
  bar.firstElementChild.style.width = nice / per + "px";
  bar.lastElementChild.textContent =
    (plain ? String(length) : length.toLocaleString("en-US", { maximumFractionDigits: 6 })) +
    " " +
    (meters ? "m" : unit || "units");
};
const tell = (text, px, py) => {
  // text, never markup: ids are the user's
  const r = stage.getBoundingClientRect();
  tip.textContent = text;
  tip.hidden = false;
  const below = py + 14 + tip.offsetHeight <= r.height;
  tip.style.left = Math.max(4, Math.min(px + 14, r.width - tip.offsetWidth - 4)) + "px";
  tip.style.top = Math.max(4, below ? py + 14 : py - 10 - tip.offsetHeight) + "px";
};
