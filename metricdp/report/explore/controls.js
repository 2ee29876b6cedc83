// plotly.js above the canvas, which shows the centers and moves the view; slider, layers, keyboard.
//
// plotly.js draws only ranks, never ids.

let plot = false;
const traces = () => {
  const centers = data.levels[now].centers.filter((c) => c.x !== null),
    many = centers.length > 60;
  const side = Math.min(...size()),
    px = many ? 11 : side < 480 || centers.length > 30 ? 18 : 22;
  const at = { x: centers.map((c) => c.x), y: centers.map((c) => c.y) },
    base = { type: "scatter", cliponaxis: false };
  const exact = data.exact || [];
  return [
    {
      ...base,
      x: exact.map((c) => c.x),
      y: exact.map((c) => c.y),
      mode: "markers",
      visible: Boolean(layers.exact),
      hoverinfo: "none",
      marker: {
        size: many ? 15 : px + 10,
        symbol: "diamond",
        color: "#fff",
        opacity: 1,
        line: { width: 3, color: "#c01818" },
      },
      meta: exact.map(
        (c) =>
          (data.example ? "Center found without noise · " : "Center without privacy · ") + c.id,
      ),
    },
    {
      ...base,
      ...at,
      mode: "markers",
      hoverinfo: "skip",
      visible: layers.centers,
      marker: { size: px + (exact.length ? 4 : 6), color: "#fff", opacity: 0.95 },
    },
    {
      ...base,
      ...at,
      mode: many ? "markers" : "markers+text",
      visible: layers.centers,
      hoverinfo: "none",
      text: centers.map((c) => "<b>" + c.rank + "</b>"),
      textfont: { color: "#fff", size: px < 20 ? 10 : 11.5 },
      marker: {
        size: px,
        opacity: 1,
        color: centers.map((c) => data.palette[c.color]),
        line: { width: 2, color: "#22262b" },
      },
      meta: centers.map(
        (c) =>
          "Center " +
          c.rank +
          " · " +
          c.id +
          "\n" +
          c.vertices.toLocaleString("en-US") +
          " " +
          data.noun +
          " in its territory\n" +
          data.mass +
          " " +
          number(c.mass || 0),
      ),
    },
  ];
};
const axis = (range, more) => ({ range, visible: false, fixedrange: false, ...more });
const layout = () => {
  const r = ranges(),
    [w, h] = size();
  return {
    width: w,
    height: h,
    margin: { l: 0, r: 0, t: 0, b: 0 },
    showlegend: false,
    hovermode: "closest",
    hoverdistance: 14,
    dragmode: "pan",
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    modebar: { bgcolor: "rgba(255,255,255,.9)", color: "#646b73", activecolor: "#22262b" },
    xaxis: axis(r["xaxis.range"]),
    yaxis: axis(r["yaxis.range"]),
  };
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
const look = (to) => {
  // move the view by script or keyboard
  Object.assign(view, to);
  if (plot) Plotly.relayout(map, ranges());
  soon();
};
const follow = (event) => {
  // plotly moved it
  const full = map._fullLayout,
    part = (name) =>
      event && event[name + ".range[0]"] !== undefined
        ? [event[name + ".range[0]"], event[name + ".range[1]"]]
        : (event && event[name + ".range"]) || full[name].range;
  const x = part("xaxis"),
    y = part("yaxis"),
    [w, h] = size(),
    per = (x[1] - x[0]) / w;
  Object.assign(view, { x: (x[0] + x[1]) / 2, y: (y[0] + y[1]) / 2, per });
  if (Math.abs((y[1] - y[0]) / h / per - 1) > 1e-6) {
    look({});
    return;
  }
  soon();
};
const go = (c) => {
  if (c.x === null) return;
  const at = whole();
  look({ x: c.x, y: c.y, per: Math.min(view.per, at.per / 4) });
  stage.scrollIntoView({ block: "nearest" });
};
const show = async (i) => {
  // the slider's answer
  const start = performance.now();
  now = i;
  if (!ready[i]) await open(i);
  if (now !== i) return;
  draw();
  if (plot) Plotly.react(map, traces(), layout(), config);
  words();
  tip.hidden = true;
  requestAnimationFrame(() => {
    const c = new MessageChannel();
    c.port1.onmessage = () =>
      performance.measure("metricdp-level", { start, end: performance.now() });
    c.port2.postMessage(0);
  });
};
const save = async () => {
  const [w, h] = size(),
    url = await Plotly.toImage(map, {
      format: "png",
      width: w,
      height: h,
      scale: ground.width / w,
    });
  const over = new Image(),
    both = document.createElement("canvas");
  over.src = url;
  await over.decode();
  both.width = ground.width;
  both.height = ground.height;
  const c = both.getContext("2d");
  c.fillStyle = "#f4f2ec";
  c.fillRect(0, 0, both.width, both.height);
  c.drawImage(ground, 0, 0);
  c.drawImage(over, 0, 0, both.width, both.height);
  const a = document.createElement("a");
  a.href = both.toDataURL("image/png");
  a.download = "metricdp-explore.png";
  a.click();
};
const config = {
  responsive: false,
  scrollZoom: true,
  displaylogo: false,
  doubleClick: false,
  displayModeBar: true,
  modeBarButtons: [
    [
      { name: "in", title: "Zoom in", icon: null, click: () => look({ per: view.per / 1.6 }) },
      { name: "out", title: "Zoom out", icon: null, click: () => look({ per: view.per * 1.6 }) },
    ],
    [{ name: "whole", title: "Whole map", icon: null, click: () => look(whole()) }],
    [{ name: "save", title: "Save the picture", icon: null, click: save }],
  ],
};

draw();
words();
performance.mark("metricdp-first");
document.documentElement.dataset.ready = "ground";

slider.addEventListener("input", () => show(Number(slider.value)));
document.querySelectorAll("[data-level]").forEach((e) =>
  e.addEventListener("click", () => {
    slider.value = e.dataset.level;
    show(Number(slider.value));
  }),
);
document.querySelectorAll("#layers input").forEach((b) =>
  b.addEventListener("change", () => {
    layers[b.value] = b.checked;
    soon();
    if (plot) Plotly.react(map, traces(), layout(), config);
  }),
);
stage.addEventListener("keydown", (e) => {
  if (e.target !== stage || e.ctrlKey || e.metaKey || e.altKey) return;
  const [w, h] = size(),
    move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
  if (move)
    look({ x: view.x + 0.15 * w * view.per * move[0], y: view.y + 0.15 * h * view.per * move[1] });
  else if (e.key === "+" || e.key === "=") look({ per: view.per / 1.6 });
  else if (e.key === "-") look({ per: view.per * 1.6 });
  else if (e.key === "0" || e.key === "Home") look(whole());
  else return;
  e.preventDefault();
});
let pinch = null;
const between = (e) => {
  const [a, b] = e.touches,
    r = stage.getBoundingClientRect();
  return {
    x: (a.clientX + b.clientX) / 2 - r.left,
    y: (a.clientY + b.clientY) / 2 - r.top,
    d: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1,
  };
};
const touched = (e) => {
  if (e.touches.length !== 2) {
    pinch = null;
    return;
  }
  e.preventDefault();
  e.stopPropagation();
  const at = between(e),
    [w, h] = size();
  if (!pinch) {
    pinch = {
      d: at.d,
      per: view.per,
      x: view.x + (at.x - w / 2) * view.per,
      y: view.y - (at.y - h / 2) * view.per,
    };
    return;
  }
  const per = (pinch.per * pinch.d) / at.d;
  look({ per, x: pinch.x - (at.x - w / 2) * per, y: pinch.y + (at.y - h / 2) * per });
};
for (const kind of ["touchstart", "touchmove", "touchend"])
  stage.addEventListener(kind, touched, { capture: true, passive: false });
let onCenter = false;
stage.addEventListener("pointermove", (e) => {
  if (onCenter || !shown || !layers.coreset || e.buttons || e.target.closest("#layers")) {
    if (!onCenter) tip.hidden = true;
    return;
  }
  const r = stage.getBoundingClientRect(),
    px = e.clientX - r.left,
    py = e.clientY - r.top;
  const x = view.x + (px - r.width / 2) * view.per,
    y = view.y - (py - r.height / 2) * view.per;
  const ix = Math.floor((x - box[0]) / shown.cell) - shown.ix0,
    iy = Math.floor((y - box[1]) / shown.cell) - shown.iy0;
  const at = iy * shown.columns + ix,
    inside = ix >= 0 && iy >= 0 && ix < shown.columns && iy < shown.rows;
  if (!inside || !shown.count[at]) {
    tip.hidden = true;
    return;
  }
  say(
    data.mass +
      " " +
      number(shown.mass[at]) +
      "\nsum over " +
      shown.count[at].toLocaleString("en-US") +
      " " +
      data.noun +
      " here",
    px,
    py,
  );
});
stage.addEventListener("pointerleave", () => {
  tip.hidden = true;
});

// ---- the library, once the first picture is on the screen
await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
const code = document.createElement("script");
code.textContent = await inflated(byId("library").textContent.trim()).text();
document.head.append(code);
const icon = (path) => ({ width: 24, height: 24, path });
[
  ["M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z"],
  ["M5 11h14v2H5z"],
  ["M12 3 2 12h3v8h6v-6h2v6h6v-8h3z"],
  ["M12 3a2 2 0 0 1 2 2v6h4l-6 6-6-6h4V5a2 2 0 0 1 2-2zM4 19h16v2H4z"],
].forEach(([p], i) => {
  config.modeBarButtons.flat()[i].icon = icon(p);
});
await Plotly.newPlot(map, traces(), layout(), config);
plot = true;
map.on("plotly_relayout", follow);
map.on("plotly_relayouting", follow);
map.on("plotly_doubleclick", () => look(whole()));
map.on("plotly_hover", (e) => {
  const p = e.points[0],
    r = stage.getBoundingClientRect();
  onCenter = true;
  say(p.data.meta[p.pointNumber], e.event.clientX - r.left, e.event.clientY - r.top);
});
map.on("plotly_unhover", () => {
  onCenter = false;
  tip.hidden = true;
});
let fitted = size().join();
new ResizeObserver(() => {
  if (size().join() === fitted) return;
  fitted = size().join();
  Plotly.relayout(map, { ...ranges(), width: size()[0], height: size()[1] });
  draw();
}).observe(stage);
performance.mark("metricdp-ready");
document.documentElement.dataset.ready = "map";
for (let i = 0; i < data.levels.length; i++) await open(i); // the other levels, while nobody waits
for (const z in heaviest) delete heaviest[z];
draw();
document.documentElement.dataset.ready = "all";
