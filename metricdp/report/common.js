// Of both pages: the stage with its buttons, keys and fingers, the scale bar, hover text, print.
//
// A view is {x, y, per}: its middle, and plane units a pixel. What follows in a page's script uses
// these names; the controls are ours, because the library's own lie under other layers in some of
// its versions.

const byId = (id) => document.getElementById(id);
const stage = byId("stage"),
  map = byId("map"),
  tip = byId("tip");
const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
const round = (most) => {
  // the largest 1, 2 or 5 times a power of ten that is no more
  const ten = Math.pow(10, Math.floor(Math.log10(most)));
  return ten * (most / ten >= 5 ? 5 : most / ten >= 2 ? 2 : 1);
};
const drawScale = (per, unit) => {
  // a bar of a round length; unit null: the picture has no scale
  const nice = round(per * Math.min(140, 0.3 * stage.clientWidth)),
    bar = byId("scale");
  if (unit === null || !isFinite(nice) || nice <= 0) return;
  const meters = unit === "km" && nice < 1;
  bar.hidden = false;
  bar.firstElementChild.style.width = nice / per + "px";
  bar.lastElementChild.textContent =
    Number((meters ? nice * 1000 : nice).toPrecision(3)).toLocaleString("en-US", {
      maximumFractionDigits: 6,
    }) +
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

const MANY = 60; // centers beyond which none has its number on the map
const BESIDE = {
  "top center": [0, 1],
  "bottom center": [0, -1],
  "middle left": [-1, 0],
  "middle right": [1, 0],
};
const markers = (centers, per) => {
  // each as wide as its neighbors leave room; its number inside, or beside it where it is small
  const side = Math.min(stage.clientWidth, stage.clientHeight),
    many = centers.length > MANY;
  const most = many ? 11 : side < 480 || centers.length > 30 ? 18 : 22;
  const room = (x, y, self) =>
    centers.reduce(
      (least, c) => (c === self ? least : Math.min(least, Math.hypot(c.x - x, c.y - y) / per)),
      Infinity,
    );
  const sizes = (many ? [] : centers).map((c) =>
    Math.round(Math.max(9, Math.min(most, room(c.x, c.y, c) - 4))),
  );
  const places = sizes.map((size, i) => {
    if (size >= 13) return "middle center";
    const { x, y } = centers[i];
    const free = ([dx, dy]) => room(x + 17 * per * dx, y + 17 * per * dy, centers[i]);
    const names = Object.keys(BESIDE);
    return names.reduce((best, name) => (free(BESIDE[name]) > free(BESIDE[best]) ? name : best));
  });
  const inside = (i) => places[i] === "middle center";
  const on = (i) => data.inks[centers[i].color]; // black or white, as the disk's color needs
  return {
    "marker.size": many ? most : sizes,
    halo: many ? most + 6 : sizes.map((px) => px + 6),
    text: many ? "" : centers.map((c) => "<b>" + c.rank + "</b>"),
    textposition: many ? "middle center" : places,
    "textfont.size": many ? 1 : sizes.map((px, i) => (inside(i) ? 0.53 * px : 11)),
    "textfont.color": many
      ? "#fff"
      : sizes.map((_, i) => (inside(i) ? on(i) : dark ? "#e9e7e1" : "#22262b")),
  };
};
// the same as changes for Plotly.restyle of two traces: white disks, and markers with numbers
const changed = (mark) =>
  Object.fromEntries(
    Object.entries(mark)
      .filter(([key]) => key !== "halo")
      .map(([key, value]) => [key, [key === "marker.size" ? mark.halo : value, value]]),
  );

const steer = ({ view, whole, look, save, name }) => {
  // buttons, keys and two fingers; one finger, wheel and double click are the library's
  const zoom = (factor) => look({ ...view(), per: view().per * factor });
  const pan = (right, up) => {
    const v = view();
    look({
      x: v.x + 0.15 * stage.clientWidth * v.per * right,
      y: v.y + 0.15 * stage.clientHeight * v.per * up,
      per: v.per,
    });
  };
  byId("zoom-in").addEventListener("click", () => zoom(1 / 1.6));
  byId("zoom-out").addEventListener("click", () => zoom(1.6));
  byId("whole").addEventListener("click", () => look(whole()));
  byId("save").addEventListener("click", async () => {
    const a = document.createElement("a");
    a.href = await save();
    a.download = name + ".png";
    a.click();
  });
  const keys = {
    ArrowLeft: () => pan(-1, 0),
    ArrowRight: () => pan(1, 0),
    ArrowUp: () => pan(0, 1),
    ArrowDown: () => pan(0, -1),
    "+": () => zoom(1 / 1.6),
    "=": () => zoom(1 / 1.6),
    "-": () => zoom(1.6),
    0: () => look(whole()),
    Home: () => look(whole()),
  };
  stage.addEventListener("keydown", (e) => {
    if (e.target !== stage || e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    keys[e.key]();
    e.preventDefault();
  });
  let pinch = null;
  const fingers = (e) => {
    const [a, b] = e.touches,
      r = stage.getBoundingClientRect();
    return {
      x: (a.clientX + b.clientX) / 2 - r.left - r.width / 2,
      y: (a.clientY + b.clientY) / 2 - r.top - r.height / 2,
      apart: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1,
    };
  };
  const touched = (e) => {
    if (e.touches.length !== 2) {
      pinch = null;
      return;
    }
    e.preventDefault();
    e.stopPropagation();
    const at = fingers(e),
      v = view();
    if (!pinch) {
      pinch = {
        apart: at.apart,
        per: v.per,
        x: v.x + at.x * v.per,
        y: v.y - at.y * v.per,
      };
      return;
    }
    const per = (pinch.per * pinch.apart) / at.apart;
    look({ x: pinch.x - at.x * per, y: pinch.y + at.y * per, per });
  };
  for (const kind of ["touchstart", "touchmove", "touchend"])
    stage.addEventListener(kind, touched, { capture: true, passive: false });
};

const PRINTED = { width: 680, height: 400 }; // pixels that a sheet has for the map
const printing = () => window.matchMedia("print").matches;
const measure = () => {
  // the stage as it is on the screen is printed, shrunk as a whole: nothing is drawn anew
  const w = stage.clientWidth,
    h = stage.clientHeight,
    style = document.documentElement.style;
  if (printing()) return;
  style.setProperty("--width", w + "px");
  style.setProperty("--height", h + "px");
  style.setProperty("--shrink", Math.min(1, PRINTED.width / w, PRINTED.height / h));
};
