// Drawing it all, and moving it: buttons, keys, mouse, wheel, fingers; resizing, paper, a picture.
//
// A page calls `begin` with what it says: `aboutCenter(c)`, `aboutExact(c)`, `aboutPoint(i)` (text
// or null), `under(level)` (drawn below the centers, in pixels), and the picture's `name`.

let page = {};
const draw = (dpr = resolution()) => {
  const level = ready[now];
  if (!level) return;
  const W = Math.round(wide * dpr),
    H = Math.round(high * dpr),
    s = dpr / view.per;
  if (ground.width !== W || ground.height !== H) [ground.width, ground.height] = [W, H];
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, W, H);
  const left = view.x - W / 2 / s,
    top = view.y + H / 2 / s;
  if (!tails.length && data.unit !== null) plain(W, H, s, left, top, dpr);
  territories(level, s, left, top);
  network(level, W, H, s, left, top, dpr);
  demand(level, dpr);
  pen.setTransform(dpr, 0, 0, dpr, 0, 0);
  if (page.under) page.under(level);
  centers(level, dpr);
  drawScale(view.per, data.unit, wide);
};
let waiting = false;
const soon = () => {
  // at most one drawing a frame
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
};
let fits = true, // the whole is shown, and shall be after resizing
  before = null; // the view that the screen had, while there is a sheet
const turn = () => {
  // to the sheet, which shows what the screen does in its own size, or back from it
  if (printing() && !before) {
    before = { view: { ...view }, wide, high };
    measure();
    const wider = Math.max(before.wide / wide, before.high / high);
    Object.assign(view, fits ? whole() : { per: view.per * wider });
  } else if (!printing() && before) {
    Object.assign(view, before.view);
    before = null;
    measure();
  }
  draw();
};
const look = (to) => {
  Object.assign(view, to);
  const most = whole().per;
  view.per = Math.max(most / 3000, Math.min(20 * most, view.per));
  fits = false;
  tip.hidden = true;
  soon();
};
const lookAtWhole = () => {
  look(whole());
  fits = true;
};
const go = (c) => {
  if (c.x === null) return;
  look({ x: c.x, y: c.y, per: Math.min(view.per, whole().per / 4) });
  stage.scrollIntoView({ block: "nearest" });
};
const zoom = (factor, px = wide / 2, py = high / 2) => {
  // what is under the pointer stays there
  const [x, y] = onPlane(px, py);
  look({ per: view.per * factor });
  look({ x: x - (px - wide / 2) * view.per, y: y + (py - high / 2) * view.per });
};
const pan = (right, up) =>
  look({ x: view.x + 0.15 * wide * view.per * right, y: view.y + 0.15 * high * view.per * up });

const buttons = () => {
  byId("zoom-in").addEventListener("click", () => zoom(1 / 1.6));
  byId("zoom-out").addEventListener("click", () => zoom(1.6));
  byId("whole").addEventListener("click", lookAtWhole);
  byId("save").addEventListener("click", () => {
    const a = document.createElement("a");
    a.href = portrait();
    a.download = page.name + ".png";
    a.click();
  });
  document.querySelectorAll("#layers input").forEach((b) =>
    b.addEventListener("change", () => {
      layers[b.value] = b.checked;
      soon();
    }),
  );
  const keys = {
    ArrowLeft: () => pan(-1, 0),
    ArrowRight: () => pan(1, 0),
    ArrowUp: () => pan(0, 1),
    ArrowDown: () => pan(0, -1),
    "+": () => zoom(1 / 1.6),
    "=": () => zoom(1 / 1.6),
    "-": () => zoom(1.6),
    0: lookAtWhole,
    Home: lookAtWhole,
  };
  stage.addEventListener("keydown", (e) => {
    if (e.target !== stage || e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    keys[e.key]();
    e.preventDefault();
  });
};
const hint = (px, py) => {
  const c = markAt(circles, px, py, 4),
    exact = c ? null : markAt(exactMarks, px, py, 2);
  if (c) return page.aboutCenter(c);
  if (exact) return page.aboutExact(exact);
  const i = page.aboutPoint ? nearestPoint(px, py, 9) : -1;
  const point = i < 0 ? null : page.aboutPoint(i),
    sum = demandAt(px, py);
  const same = point && sum && point.endsWith("\n" + sum); // a square of this point alone
  return [point, same ? null : sum].filter(Boolean).join("\n\n");
};
const pointers = () => {
  // the mouse or two fingers move, two fingers zoom, one scrolls the page, a tap tells what the
  // mouse tells by hovering
  const held = new Map();
  let start = null,
    moved = false;
  const place = (e) => {
    const r = stage.getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top];
  };
  const grip = () => {
    const at = [...held.values()],
      middle = [0, 1].map((j) => at.reduce((sum, p) => sum + p[j], 0) / at.length);
    const apart = at.length < 2 ? 1 : Math.hypot(at[0][0] - at[1][0], at[0][1] - at[1][1]) || 1;
    return { middle, apart };
  };
  const grab = () => {
    if (!held.size) return;
    const { middle, apart } = grip();
    start = { apart, per: view.per, plane: onPlane(...middle) };
  };
  const hover = (e) => {
    const at = place(e),
      text = hint(...at);
    if (text) tell(text, ...at);
    else tip.hidden = true;
  };
  map.addEventListener("pointerdown", (e) => {
    if (e.button) return;
    map.setPointerCapture(e.pointerId);
    if (!held.size) moved = false;
    held.set(e.pointerId, place(e));
    grab();
  });
  map.addEventListener("pointermove", (e) => {
    const before = held.get(e.pointerId),
      at = place(e);
    if (!before) {
      hover(e);
      return;
    }
    if (!moved && Math.hypot(at[0] - before[0], at[1] - before[1]) < 4) return; // a tap trembles
    moved = true;
    if (e.pointerType === "touch" && held.size < 2) return; // the page's
    map.classList.add("held");
    held.set(e.pointerId, at);
    const { middle, apart } = grip();
    look({ per: (start.per * start.apart) / apart });
    look({
      x: start.plane[0] - (middle[0] - wide / 2) * view.per,
      y: start.plane[1] + (middle[1] - high / 2) * view.per,
    });
  });
  const release = (e) => {
    if (!held.delete(e.pointerId)) return;
    grab();
    if (held.size) return;
    map.classList.remove("held");
    if (!moved && e.type === "pointerup") hover(e);
  };
  map.addEventListener("pointerup", release);
  map.addEventListener("pointercancel", release);
  map.addEventListener("pointerleave", (e) => {
    if (e.pointerType === "mouse") tip.hidden = true;
  });
  for (const kind of ["touchstart", "touchmove"])
    map.addEventListener(
      kind,
      (e) => {
        if (e.touches.length > 1 && e.cancelable) e.preventDefault(); // the map's
      },
      { passive: false },
    );
  map.addEventListener("dblclick", lookAtWhole);
  map.addEventListener(
    "wheel",
    (e) => {
      e.preventDefault();
      const lines = e.deltaMode === 1 ? 20 : 1,
        pinched = e.ctrlKey ? 6 : 1; // what a touchpad calls two fingers
      zoom(Math.exp(0.0015 * lines * pinched * e.deltaY), ...place(e));
    },
    { passive: false },
  );
};
const portrait = () => {
  // the picture with its ground, its scale and whose data it shows
  draw(2);
  const copy = document.createElement("canvas"),
    c = copy.getContext("2d"),
    bar = byId("scale"),
    credit = byId("credit");
  [copy.width, copy.height] = [ground.width, ground.height];
  c.fillStyle = getComputedStyle(stage).backgroundColor;
  c.fillRect(0, 0, copy.width, copy.height);
  c.drawImage(ground, 0, 0);
  c.setTransform(2, 0, 0, 2, 0, 0);
  c.fillStyle = getComputedStyle(stage).color;
  c.font = "11px system-ui, sans-serif";
  if (!bar.hidden) {
    const length = bar.firstElementChild.getBoundingClientRect().width;
    c.fillRect(18, high - 22, length, 1.5);
    c.fillText(bar.lastElementChild.textContent, 18, high - 8);
  }
  c.textAlign = "right";
  c.fillText(credit.textContent, wide - 8, high - 8);
  draw();
  return copy.toDataURL("image/png");
};
const begin = async (content) => {
  // the first picture, then the controls
  page = content;
  if (window.matchMedia("(max-width: 760px)").matches) byId("layers").open = false;
  await open(now);
  measure();
  Object.assign(view, whole());
  draw();
  performance.mark("metricdp-first");
  document.documentElement.dataset.ready = "ground";
  buttons();
  pointers();
  let fitted = [wide, high].join();
  new ResizeObserver(() => {
    if (printing() || before) return;
    measure();
    if ([wide, high].join() === fitted) return;
    fitted = [wide, high].join();
    if (fits) Object.assign(view, whole());
    draw();
  }).observe(stage);
  night.addEventListener("change", () => draw());
  onPaper.addEventListener("change", turn);
  for (const [kind, on] of [
    ["beforeprint", true],
    ["afterprint", false],
  ])
    window.addEventListener(kind, () => {
      sheet = on;
      turn();
    });
  // what is on the screen, for scripts and tests
  stage.seen = () => ({ view: { ...view }, wide, high, circles });
  performance.mark("metricdp-ready");
  document.documentElement.dataset.ready = "map";
  for (let i = 0; i < data.levels.length; i++) await open(i); // the others, while nobody waits
  for (const z in heaviest) delete heaviest[z];
  draw();
  document.documentElement.dataset.ready = "all";
};
