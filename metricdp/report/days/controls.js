// Slider, play button, bars of moves, the panel of one day.

const slider = byId("level"),
  play = byId("play"),
  bars = byId("moves"),
  table = byId("centers");
const counted = (n, word) => many(n, word) + (n === 1 ? "" : "s");
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
    ["Alarm", day.alarm ? "more centers should move than the limit allows" : "none"],
  ];
  const list = byId("now").querySelector("dl");
  list.replaceChildren(...facts.flatMap(([name, value]) => [cell("dt", name), cell("dd", value)]));
  table.replaceChildren(
    ...day.centers.map((c) => {
      const row = document.createElement("tr"),
        first = document.createElement("td"),
        button = document.createElement("button"),
        number = cell("i", c.rank);
      number.style.background = data.palette[c.color];
      number.style.color = data.inks[c.color];
      button.type = "button";
      button.title = "Show on the map";
      button.setAttribute("aria-label", "Center " + c.rank + ", " + c.id + ": show on the map");
      button.append(number, cell("span", c.id));
      first.append(button);
      row.append(first, cell("td", c.since === day.day ? "today" : data.names[c.since]));
      row.className = c.since === day.day && now > 0 ? "new" : "";
      row.addEventListener("click", () => go(c));
      return row;
    }),
  );
};
const spread = () => {
  // how many centers moved on each day; red where there was an alarm
  const w = bars.clientWidth,
    pen = bars.getContext("2d"),
    ratio = Math.min(window.devicePixelRatio || 1, 2),
    n = data.levels.length;
  bars.width = Math.max(1, Math.round(w * ratio));
  bars.height = Math.round(18 * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const most = Math.max(1, ...data.levels.map((d) => d.moved)),
    step = (w - 16) / Math.max(1, n - 1); // the slider's thumb is 16 pixels wide
  data.levels.forEach((d, i) => {
    const high = d.moved ? 3 + (13 * d.moved) / most : 1,
      x = n > 1 ? 8 + i * step : w / 2;
    pen.fillStyle = d.alarm ? "#c63d3d" : i === now ? "#2f6db5" : dark() ? "#7b828a" : "#a7a49b";
    const wide = Math.max(1, Math.min(10, 0.7 * step));
    pen.fillRect(x - wide / 2, 18 - high, wide, high);
  });
};
const show = (i) => {
  now = Math.max(0, Math.min(data.levels.length - 1, i));
  const day = data.levels[now],
    more = document.createElement("small");
  slider.value = now;
  slider.setAttribute("aria-valuetext", day.name);
  more.textContent =
    (now ? counted(day.moved, "center") + " moved" : "first day with centers") +
    (day.alarm ? " · alarm" : "");
  byId("chosen").replaceChildren(document.createTextNode(day.name), more);
  panel(day);
  spread();
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
  show(Math.round(at * (data.levels.length - 1)));
});
play.addEventListener("click", () => {
  if (timer !== null) {
    stop();
    return;
  }
  if (now === data.levels.length - 1) show(0);
  play.textContent = "Stop";
  play.setAttribute("aria-pressed", "true");
  const pause = Math.max(60, Math.min(700, 20000 / data.levels.length));
  timer = setInterval(() => {
    show(now + 1);
    if (now === data.levels.length - 1) stop();
  }, pause);
});

now = data.levels.length - 1;
show(now);
new ResizeObserver(spread).observe(bars);
await begin({
  name: "metricdp-days",
  under: trails,
  aboutCenter: (c) => {
    const since = c.since === data.levels[now].day ? "today" : data.names[c.since];
    return "Center " + c.rank + " · " + c.id + "\nhere since " + since;
  },
});
