// Slider, play button, bars of moves, pointer and wheel, the panel of one day.

const slider = byId("level"),
  play = byId("play"),
  bars = byId("moves"),
  table = byId("centers");
const many = (n, word) => n.toLocaleString("en-US") + " " + word + (n === 1 ? "" : "s");
const cell = (tag, text) => {
  const made = document.createElement(tag);
  made.textContent = text; // text, never markup: ids and days are the user's
  return made;
};
const panel = (day) => {
  const facts = [
    ["Day", day.name],
    ["Days counted", day.day.toLocaleString("en-US")],
    ["Centers moved", day.moved.toLocaleString("en-US")],
    ["Alarm", day.alarm ? "more should move than may" : "none"],
  ];
  const list = byId("now").querySelector("dl");
  list.replaceChildren(...facts.flatMap(([name, value]) => [cell("dt", name), cell("dd", value)]));
  table.replaceChildren(
    ...day.centers.map((c) => {
      const row = document.createElement("tr"),
        first = document.createElement("td"),
        button = document.createElement("button"),
        number = cell("i", c.rank + 1);
      number.style.background = data.palette[c.color];
      number.style.color = data.inks[c.color];
      button.type = "button";
      button.append(number, cell("span", c.id));
      first.append(button);
      row.append(first, cell("td", c.since === day.day ? "today" : data.names[c.since]));
      row.className = c.since === day.day && now > 0 ? "new" : "";
      row.addEventListener("click", () => {
        if (c.x !== null) look({ x: c.x, y: c.y, per: Math.min(view.per, whole().per / 4) });
      });
      return row;
    }),
  );
};
const spread = () => {
  // how many centers moved on each day; red where there was an alarm
  const w = bars.clientWidth,
    pen = bars.getContext("2d"),
    ratio = Math.min(window.devicePixelRatio || 1, 2),
    n = data.days.length;
  bars.width = Math.max(1, Math.round(w * ratio));
  bars.height = Math.round(18 * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const most = Math.max(1, ...data.days.map((d) => d.moved)),
    step = (w - 16) / Math.max(1, n - 1); // the slider's thumb is 16 pixels wide
  data.days.forEach((d, i) => {
    const high = d.moved ? 3 + (13 * d.moved) / most : 1,
      x = n > 1 ? 8 + i * step : w / 2;
    pen.fillStyle = d.alarm ? "#c63d3d" : i === now ? "#2f6db5" : dark ? "#7b828a" : "#a7a49b";
    const wide = Math.max(1, Math.min(10, 0.7 * step));
    pen.fillRect(x - wide / 2, 18 - high, wide, high);
  });
};
const show = (i) => {
  now = Math.max(0, Math.min(data.days.length - 1, i));
  const day = data.days[now],
    more = document.createElement("small");
  slider.value = now;
  slider.setAttribute("aria-valuetext", day.name);
  more.textContent =
    (now ? many(day.moved, "center") + " moved" : "the first day that was asked about") +
    (day.alarm ? " · alarm" : "");
  byId("chosen").replaceChildren(document.createTextNode(day.name), more);
  panel(day);
  spread();
  draw();
};
const look = (to) => {
  Object.assign(view, to);
  draw();
};

// ---- the slider
let timer = null;
const stop = () => {
  clearInterval(timer);
  timer = null;
  play.textContent = "Play";
  play.setAttribute("aria-pressed", "false");
};
slider.addEventListener("input", () => {
  stop();
  show(Number(slider.value));
});
bars.addEventListener("click", (e) => {
  const r = bars.getBoundingClientRect(),
    at = (e.clientX - r.left - 8) / Math.max(1, r.width - 16);
  stop();
  show(Math.round(at * (data.days.length - 1)));
});
play.addEventListener("click", () => {
  if (timer !== null) {
    stop();
    return;
  }
  if (now === data.days.length - 1) show(0);
  play.textContent = "Stop";
  play.setAttribute("aria-pressed", "true");
  const pause = Math.max(60, Math.min(700, 20000 / data.days.length));
  timer = setInterval(() => {
    show(now + 1);
    if (now === data.days.length - 1) stop();
  }, pause);
});
document.querySelectorAll("#layers input").forEach((one) =>
  one.addEventListener("change", () => {
    layers[one.value] = one.checked;
    draw();
  }),
);

// ---- one finger, mouse and wheel
let held = null;
map.addEventListener("pointerdown", (e) => {
  held = { x: e.clientX, y: e.clientY, at: { ...view } };
  map.setPointerCapture(e.pointerId);
  map.classList.add("held");
});
map.addEventListener("pointermove", (e) => {
  if (held) {
    tip.hidden = true;
    look({
      x: held.at.x - (e.clientX - held.x) * view.per,
      y: held.at.y + (e.clientY - held.y) * view.per,
    });
    return;
  }
  const r = stage.getBoundingClientRect(),
    px = e.clientX - r.left,
    py = e.clientY - r.top,
    hit = circles.find((c) => Math.hypot(c.x - px, c.y - py) <= c.r);
  if (!hit) {
    tip.hidden = true;
    return;
  }
  const day = data.days[now],
    since = hit.c.since === day.day ? "since today" : "since " + data.names[hit.c.since];
  tell("Center " + (hit.c.rank + 1) + " · " + hit.c.id + "\nhere " + since, px, py);
});
const release = () => {
  held = null;
  map.classList.remove("held");
};
map.addEventListener("pointerup", release);
map.addEventListener("pointercancel", release);
map.addEventListener("pointerleave", () => {
  tip.hidden = true;
});
map.addEventListener("dblclick", () => look(whole()));
map.addEventListener(
  "wheel",
  (e) => {
    e.preventDefault();
    const r = stage.getBoundingClientRect(),
      px = e.clientX - r.left - r.width / 2,
      py = e.clientY - r.top - r.height / 2,
      per = view.per * Math.exp(0.0015 * e.deltaY);
    look({ x: view.x + px * (view.per - per), y: view.y - py * (view.per - per), per });
  },
  { passive: false },
);
const save = async () => ground.toDataURL("image/png");
steer({ view: () => view, whole, look, save, name: "metricdp-days" });
Object.assign(view, whole());
if (stage.clientWidth < 520) byId("layers").open = false;
new ResizeObserver(() => {
  if (printing()) return;
  measure();
  spread();
  draw();
}).observe(stage);
measure();
show(now);
document.documentElement.dataset.ready = "all";
