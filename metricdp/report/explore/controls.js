// plotly.js above the canvas, which shows the centers and moves the view; slider, layers, keyboard.
//
// plotly.js draws only ranks, never ids.

let plot = false;
const traces = () => {
  const centers = data.levels[now].centers.filter((c) => c.x !== null),
    mark = markers(centers, view.per);
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
        size: centers.length > MANY ? 15 : 30,
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
      marker: { size: mark.halo, color: "#fff", opacity: 0.95 },
    },
    {
      ...base,
      ...at,
      mode: "markers+text",
      visible: layers.centers,
      hoverinfo: "none",
      text: mark.text,
      textposition: mark.textposition,
      textfont: { color: mark["textfont.color"], size: mark["textfont.size"] },
      marker: {
        size: mark["marker.size"],
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
  if (plot) Plotly.relayout(map, ranges()).then(resize);
  soon();
};
let sized = 0;
const resize = () => {
  // markers have more room after zooming in
  if (!plot || sized === view.per) return null;
  sized = view.per;
  const mark = markers(
    data.levels[now].centers.filter((c) => c.x !== null),
    view.per,
  );
  return Plotly.restyle(map, changed(mark), [1, 2]);
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
  resize();
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
  c.fillStyle = getComputedStyle(stage).backgroundColor;
  c.fillRect(0, 0, both.width, both.height);
  c.drawImage(ground, 0, 0);
  c.drawImage(over, 0, 0, both.width, both.height);
  return both.toDataURL("image/png");
};
const config = {
  responsive: false,
  scrollZoom: true,
  displaylogo: false,
  doubleClick: false,
  displayModeBar: false,
};

draw();
words();
measure();
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
let onCenter = false;
stage.addEventListener("pointermove", (e) => {
  if (onCenter || !shown || !layers.coreset || e.buttons || e.target.closest("#layers, #tools")) {
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
  tell(
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
await Plotly.newPlot(map, traces(), layout(), config);
plot = true;
steer({ view: () => view, whole, look, save, name: "metricdp-explore" });
map.on("plotly_relayout", follow);
map.on("plotly_relayouting", follow);
map.on("plotly_doubleclick", () => look(whole()));
map.on("plotly_hover", (e) => {
  const p = e.points[0],
    r = stage.getBoundingClientRect();
  onCenter = true;
  tell(p.data.meta[p.pointNumber], e.event.clientX - r.left, e.event.clientY - r.top);
});
map.on("plotly_unhover", () => {
  onCenter = false;
  tip.hidden = true;
});
let fitted = size().join();
new ResizeObserver(() => {
  if (size().join() === fitted || printing()) return;
  fitted = size().join();
  measure();
  Plotly.relayout(map, { ...ranges(), width: size()[0], height: size()[1] });
  draw();
}).observe(stage);
performance.mark("metricdp-ready");
document.documentElement.dataset.ready = "map";
for (let i = 0; i < data.levels.length; i++) await open(i); // the other levels, while nobody waits
for (const z in heaviest) delete heaviest[z];
draw();
document.documentElement.dataset.ready = "all";
