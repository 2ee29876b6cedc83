// The map: network, territories, demand and centers as plotly.js draws them, and their controls.
const data = JSON.parse(document.getElementById("map-data").textContent);
const kinds = { f4: Float32Array, u2: Uint16Array, i4: Int32Array, u1: Uint8Array };
const open = (p) => {
  const raw = atob(p.bdata),
    bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new kinds[p.dtype](bytes.buffer);
};
const x = open(data.x),
  y = open(data.y),
  label = open(data.label),
  edges = open(data.edges);
const distance = open(data.distance),
  weight = data.weights && open(data.weights);
const GREY = "#a9acaf",
  n = x.length,
  m = edges.length / 2,
  colors = data.palette.length;
const heavy = n + m > 4000;
const webgl = (() => {
  try {
    return !!document.createElement("canvas").getContext("webgl");
  } catch (e) {
    return false;
  }
})();
const kind = heavy && webgl ? "scattergl" : "scatter";
const number = (v) => {
  const digits = Math.abs(v) >= 100 ? 0 : Math.abs(v) >= 10 ? 1 : 2;
  return v.toLocaleString("en-US", { maximumFractionDigits: digits });
};
const side = () => Math.min(stage.clientWidth, stage.clientHeight);
const faint = (hex, a) =>
  "rgba(" + [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join() + "," + a + ")";

const box = data.box,
  free = (pixels) => Math.max(60, pixels - 2 * Math.min(44, 0.06 * pixels));
const window_ = () => {
  // the whole drawing, true to scale, clear of the frame
  const w = stage.clientWidth,
    h = stage.clientHeight;
  const per = Math.max((box[2] - box[0]) / free(w), (box[3] - box[1]) / free(h)) || 1;
  const cx = (box[0] + box[2]) / 2,
    cy = (box[1] + box[3]) / 2;
  return {
    "xaxis.range": [cx - (per * w) / 2, cx + (per * w) / 2],
    "yaxis.range": [cy - (per * h) / 2, cy + (per * h) / 2],
  };
};

// edges by color of territory; the last group crosses a border
const groups = Array.from({ length: colors + 1 }, () => []);
for (let e = 0; e < m; e++) {
  const a = edges[2 * e],
    b = edges[2 * e + 1];
  groups[label[a] === label[b] ? data.centers[label[a]].color : colors].push(a, b);
}
const width = m < 300 ? 1.6 : m < 8000 ? 1.2 : 1;
// a social graph: thousands of edges over one another
const crowded = data.layout && m > 2.5 * n && m > 2000;
const ink = m < 2000 ? 0.75 : crowded ? Math.max(0.05, Math.min(0.35, 4500 / m)) : 0.85;
const grey = Math.min(ink, 0.8);
const traces = [],
  layer = [],
  tips = [];
const add = (name, trace, say) => {
  layer.push(name);
  tips.push(say);
  traces.push(trace);
};
const order = [colors].concat(Array.from({ length: colors }, (_, c) => c));
const painted = (c, on) => (on && c < colors ? faint(data.palette[c], ink) : faint(GREY, grey));
const edgeColor = [];
order.forEach((c) => {
  const g = groups[c],
    k = g.length / 2;
  if (!k) return;
  const xs = new Float32Array(3 * k).fill(NaN),
    ys = new Float32Array(3 * k).fill(NaN);
  for (let e = 0; e < k; e++) {
    xs[3 * e] = x[g[2 * e]];
    xs[3 * e + 1] = x[g[2 * e + 1]];
    ys[3 * e] = y[g[2 * e]];
    ys[3 * e + 1] = y[g[2 * e + 1]];
  }
  edgeColor.push([traces.length, c]);
  add("network", {
    type: kind,
    mode: "lines",
    x: xs,
    y: ys,
    hoverinfo: "skip",
    connectgaps: false,
    line: {
      width: c === colors && data.layout ? Math.min(width, 1) : width,
      color: painted(c, true),
    },
  });
});
const dotSize = () => Math.max(heavy ? 2 : 5, Math.min(11, (0.3 * side()) / Math.sqrt(n)));
const dots = [];
for (let c = 0; c < colors; c++) {
  const members = [];
  for (let i = 0; i < n; i++) if (data.centers[label[i]].color === c) members.push(i);
  if (!members.length) continue;
  dots.push(traces.length);
  add(
    "territories",
    {
      type: kind,
      mode: "markers",
      x: Float32Array.from(members, (i) => x[i]),
      y: Float32Array.from(members, (i) => y[i]),
      hoverinfo: data.ids ? "none" : "skip",
      marker: {
        size: dotSize(),
        color: data.palette[c],
        opacity: heavy ? 0.8 : 0.95,
        line: { width: heavy ? 0 : 1, color: "#fff" },
      },
    },
    (i) => point(members[i]),
  );
}
const titled = (c) => "Center " + c.rank + " · " + c.id;
const point = (i) =>
  (data.ids ? data.ids[i] + "\n" : "") +
  "territory of center " +
  data.centers[label[i]].rank +
  "\ndistance to it " +
  number(distance[i]) +
  (weight ? "\n" + data.massName + " " + number(weight[i]) : "");
const shadow = dark ? "rgba(240,240,236" : "rgba(34,38,43";
let massAt = -1;
const massSize = () => {
  const b = data.bubbles,
    most = b.mass[0],
    r = window_()["xaxis.range"];
  const top = b.cell
    ? Math.max(9, (0.72 * b.cell * stage.clientWidth) / (r[1] - r[0]))
    : 0.045 * side();
  const diameter = (v) => 2 * top * Math.sqrt(v / most);
  const key = byId("sizes"),
    nice = round(most),
    px = diameter(nice) + "px";
  key.hidden = false;
  Object.assign(key.firstElementChild.style, { width: px, height: px });
  key.lastElementChild.textContent = data.massName + " " + number(nice);
  return b.mass.map(diameter);
};
if (data.bubbles && data.bubbles.x.length) {
  const b = data.bubbles;
  massAt = traces.length;
  add(
    "mass",
    {
      type: "scatter",
      mode: "markers",
      x: b.x,
      y: b.y,
      hoverinfo: "none",
      marker: {
        size: massSize(),
        sizemode: "diameter",
        opacity: 1,
        color: shadow + ",.3)",
        line: { width: 1, color: shadow + ",.55)" },
      },
    },
    (i) =>
      data.massName +
      " " +
      number(b.mass[i]) +
      (b.cell
        ? "\nsum over " + b.count[i].toLocaleString("en-US") + " " + data.noun + " here"
        : ""),
  );
}
const drawn = data.centers.filter((c) => c.x !== null);
const first = window_();
let mark = markers(drawn, (first["xaxis.range"][1] - first["xaxis.range"][0]) / stage.clientWidth);
const doubt = (c) => Math.min(1, (c.high - c.low) / 2 / Math.max(Math.abs(c.mass || 0), 1));
if (drawn.some((c) => c.low !== undefined))
  // halos: the wider, the less is known of what stands in the territory
  add("centers", {
    type: "scatter",
    mode: "markers",
    x: drawn.map((c) => c.x),
    y: drawn.map((c) => c.y),
    hoverinfo: "skip",
    marker: {
      size: drawn.map((c) => (c.low === undefined ? 0 : 28 + 44 * doubt(c))),
      color: drawn.map((c) => data.palette[c.color]),
      opacity: 0.4,
    },
  });
const halo = traces.length;
const at = { x: drawn.map((c) => c.x), y: drawn.map((c) => c.y) };
add("centers", {
  type: "scatter",
  mode: "markers",
  ...at,
  hoverinfo: "skip",
  marker: { size: mark.halo, color: "#fff", opacity: 0.95 },
});
add(
  "centers",
  {
    type: "scatter",
    mode: "markers+text",
    ...at,
    text: mark.text,
    textposition: mark.textposition,
    textfont: { color: mark["textfont.color"], size: mark["textfont.size"] },
    hoverinfo: "none",
    cliponaxis: false,
    marker: {
      size: mark["marker.size"],
      opacity: 1,
      color: drawn.map((c) => data.palette[c.color]),
      line: { width: 2, color: "#22262b" },
    },
  },
  (i) =>
    titled(drawn[i]) +
    "\n" +
    drawn[i].vertices.toLocaleString("en-US") +
    " " +
    data.noun +
    " in its territory" +
    (drawn[i].mass === null ? "" : "\n" + data.massName + " " + number(drawn[i].mass)) +
    (drawn[i].low === undefined
      ? ""
      : "\ninterval " + number(drawn[i].low) + " to " + number(drawn[i].high)),
);

const axis = (range, more) => ({ range, visible: false, fixedrange: false, ...more });
const shade = data.shade
  ? [
      {
        source: data.shade.source,
        xref: "x",
        yref: "y",
        x: data.shade.x,
        y: data.shade.y,
        sizex: data.shade.width,
        sizey: data.shade.height,
        sizing: "stretch",
        layer: "below",
        opacity: 0.17,
      },
    ]
  : [];
const layout = {
  margin: { l: 0, r: 0, t: 0, b: 0 },
  showlegend: false,
  hovermode: "closest",
  hoverdistance: 14,
  dragmode: "pan",
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  images: shade,
  uirevision: 1,
  xaxis: axis(first["xaxis.range"]),
  yaxis: axis(first["yaxis.range"], { scaleanchor: "x", scaleratio: 1 }),
};
const config = {
  responsive: false,
  scrollZoom: true,
  displaylogo: false,
  doubleClick: false,
  displayModeBar: false,
};

const view = () => {
  const { xaxis, yaxis } = map._fullLayout,
    middle = ([a, b]) => (a + b) / 2;
  return {
    x: middle(xaxis.range),
    y: middle(yaxis.range),
    per: (xaxis.range[1] - xaxis.range[0]) / xaxis._length,
  };
};
const whole = () => {
  const range = window_(),
    middle = ([a, b]) => (a + b) / 2;
  return {
    x: middle(range["xaxis.range"]),
    y: middle(range["yaxis.range"]),
    per: (range["xaxis.range"][1] - range["xaxis.range"][0]) / stage.clientWidth,
  };
};
const fresh = (per) => {
  // what zooming changes in the markers, if it does
  const next = markers(drawn, per);
  if (JSON.stringify(next) === JSON.stringify(mark)) return null;
  mark = next;
  return changed(mark);
};
const look = ({ x, y, per }) => {
  const w = (per * stage.clientWidth) / 2,
    h = (per * stage.clientHeight) / 2,
    to = { "xaxis.range": [x - w, x + w], "yaxis.range": [y - h, y + h] },
    other = fresh(per);
  return other ? Plotly.update(map, other, to, [halo, halo + 1]) : Plotly.relayout(map, to);
};
const save = () => {
  const { clientWidth: width, clientHeight: height } = stage;
  const ground = { ...map.layout, paper_bgcolor: getComputedStyle(stage).backgroundColor };
  const options = { format: "png", width, height, scale: 2 };
  return Plotly.toImage({ data: map.data, layout: ground, config }, options);
};
const resize = () => {
  const other = fresh(view().per);
  return other && Plotly.restyle(map, other, [halo, halo + 1]);
};
const follow = () => drawScale(view().per, data.unit);
const fit = async () => {
  await Plotly.relayout(map, {
    ...window_(),
    width: stage.clientWidth,
    height: stage.clientHeight,
  });
  if (massAt >= 0) await Plotly.restyle(map, { "marker.size": [massSize()] }, [massAt]);
  await resize();
  if (dots.length) await Plotly.restyle(map, { "marker.size": dotSize() }, dots);
};
let fitting = false,
  fitted = "";
const resized = async () => {
  // at once, then again until the drawing has the stage's size
  const now = () => stage.clientWidth + "x" + stage.clientHeight;
  if (fitting || printing()) return;
  fitting = true;
  while (fitted !== now()) {
    fitted = now();
    measure();
    await fit();
  }
  fitting = false;
};
const toggle = (name, on) => {
  const which = layer.map((l, i) => (l === name ? i : -1)).filter((i) => i >= 0);
  if (name === "mass") byId("sizes").hidden = !on;
  const jobs = which.length ? [Plotly.restyle(map, { visible: on }, which)] : [];
  if (name === "territories") {
    if (edgeColor.length)
      jobs.push(
        Plotly.restyle(
          map,
          { "line.color": edgeColor.map(([, c]) => painted(c, on)) },
          edgeColor.map(([i]) => i),
        ),
      );
    if (shade.length) jobs.push(Plotly.relayout(map, { "images[0].visible": on }));
  }
  return Promise.all(jobs);
};
const go = (c) => {
  if (c.x === null) return;
  look({ x: c.x, y: c.y, per: Math.min(view().per, whole().per / 4) });
  stage.scrollIntoView({ block: "nearest" });
};
layout.width = stage.clientWidth;
layout.height = stage.clientHeight;
Plotly.newPlot(map, traces, layout, config).then(() => {
  follow();
  measure();
  steer({ view, whole, look, save, name: "metricdp-map" });
  map.on("plotly_relayout", () => {
    follow();
    resize();
  });
  map.on("plotly_relayouting", follow);
  map.on("plotly_doubleclick", () => look(whole()));
  map.on("plotly_hover", (e) => {
    const p = e.points[0],
      say = tips[p.curveNumber];
    if (!say) return;
    const r = stage.getBoundingClientRect();
    tell(say(p.pointNumber), e.event.clientX - r.left, e.event.clientY - r.top);
  });
  map.on("plotly_unhover", () => {
    tip.hidden = true;
  });
  document
    .querySelectorAll("#layers input")
    .forEach((box) => box.addEventListener("change", () => toggle(box.value, box.checked)));
  document
    .querySelectorAll("tr[data-center]")
    .forEach((row) =>
      row.addEventListener("click", () => go(data.centers[Number(row.dataset.center)])),
    );
  fitted = layout.width + "x" + layout.height;
  new ResizeObserver(resized).observe(stage);
  document.documentElement.dataset.ready = kind;
});
