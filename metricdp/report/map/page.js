// The map: network, territories, demand and centers as plotly.js draws them, and their controls.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("map-data").textContent);
  const kinds = { f4: Float32Array, u2: Uint16Array, i4: Int32Array, u1: Uint8Array };
  const open = (p) => {
    const raw = atob(p.bdata),
      bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new kinds[p.dtype](bytes.buffer);
  };
  const byId = (id) => document.getElementById(id);
  const map = byId("map"),
    stage = byId("stage"),
    tip = byId("tip");
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
  let massAt = -1;
  const massSize = () => {
    const b = data.bubbles,
      most = b.mass[0],
      r = window_()["xaxis.range"];
    const top = b.cell
      ? Math.max(9, (0.72 * b.cell * stage.clientWidth) / (r[1] - r[0]))
      : 0.045 * side();
    return b.mass.map((v) => 2 * top * Math.sqrt(v / most));
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
          color: "rgba(34,38,43,.3)",
          line: { width: 1, color: "rgba(34,38,43,.55)" },
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
  const drawn = data.centers.filter((c) => c.x !== null),
    many = drawn.length > 60;
  const size = () => (many ? 11 : side() < 480 || drawn.length > 30 ? 18 : 22);
  const halo = traces.length;
  const at = { x: drawn.map((c) => c.x), y: drawn.map((c) => c.y) };
  add("centers", {
    type: "scatter",
    mode: "markers",
    ...at,
    hoverinfo: "skip",
    marker: { size: size() + 6, color: "#fff", opacity: 0.95 },
  });
  add(
    "centers",
    {
      type: "scatter",
      mode: many ? "markers" : "markers+text",
      ...at,
      text: drawn.map((c) => "<b>" + c.rank + "</b>"),
      textfont: { color: "#fff", size: size() < 20 ? 10 : 11.5 },
      hoverinfo: "none",
      cliponaxis: false,
      marker: {
        size: size(),
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
      (drawn[i].mass === null ? "" : "\n" + data.massName + " " + number(drawn[i].mass)),
  );

  const first = window_();
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
    modebar: { bgcolor: "rgba(255,255,255,.9)", color: "#646b73", activecolor: "#22262b" },
    xaxis: axis(first["xaxis.range"]),
    yaxis: axis(first["yaxis.range"], { scaleanchor: "x", scaleratio: 1 }),
  };
  const config = {
    responsive: false,
    scrollZoom: true,
    displaylogo: false,
    doubleClick: false,
    displayModeBar: true,
    modeBarButtons: [
      ["zoomIn2d", "zoomOut2d"],
      [{ name: "whole", title: "Whole map", icon: Plotly.Icons.home, click: () => whole() }],
      ["toImage"],
    ],
    toImageButtonOptions: { filename: "metricdp-map", scale: 2 },
  };
  const whole = () => Plotly.relayout(map, window_());

  const scaleBar = () => {
    const full = map._fullLayout,
      bar = byId("scale");
    if (data.unit === null || !full) return;
    const per = (full.xaxis.range[1] - full.xaxis.range[0]) / full.xaxis._length;
    const goal = per * Math.min(140, 0.3 * stage.clientWidth),
      ten = Math.pow(10, Math.floor(Math.log10(goal)));
    const nice = ten * (goal / ten >= 5 ? 5 : goal / ten >= 2 ? 2 : 1);
    if (!isFinite(nice) || nice <= 0) return;
    bar.hidden = false;
    bar.firstElementChild.style.width = nice / per + "px";
    const meters = data.unit === "km" && nice < 1;
    bar.lastElementChild.textContent =
      Number((meters ? nice * 1000 : nice).toPrecision(3)).toLocaleString("en-US", {
        maximumFractionDigits: 6,
      }) +
      " " +
      (meters ? "m" : data.unit || "units");
  };
  const fit = async () => {
    await Plotly.relayout(map, {
      ...window_(),
      width: stage.clientWidth,
      height: stage.clientHeight,
    });
    if (massAt >= 0) await Plotly.restyle(map, { "marker.size": [massSize()] }, [massAt]);
    await Plotly.restyle(
      map,
      { "marker.size": [size() + 6, size()], "textfont.size": size() < 20 ? 10 : 11.5 },
      [halo, halo + 1],
    );
    if (dots.length) await Plotly.restyle(map, { "marker.size": dotSize() }, dots);
  };
  let fitting = false,
    fitted = "";
  const resized = async () => {
    // at once, then again until the drawing has the stage's size
    const now = () => stage.clientWidth + "x" + stage.clientHeight;
    if (fitting) return;
    fitting = true;
    while (fitted !== now()) {
      fitted = now();
      await fit();
    }
    fitting = false;
  };
  const toggle = (name, on) => {
    const which = layer.map((l, i) => (l === name ? i : -1)).filter((i) => i >= 0);
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
    const full = map._fullLayout,
      all = window_(),
      now = full.xaxis.range[1] - full.xaxis.range[0];
    const near = Math.min(now, (all["xaxis.range"][1] - all["xaxis.range"][0]) / 4),
      ratio = stage.clientHeight / stage.clientWidth;
    Plotly.relayout(map, {
      "xaxis.range": [c.x - near / 2, c.x + near / 2],
      "yaxis.range": [c.y - (near * ratio) / 2, c.y + (near * ratio) / 2],
    });
    stage.scrollIntoView({ block: "nearest" });
  };
  layout.width = stage.clientWidth;
  layout.height = stage.clientHeight;
  Plotly.newPlot(map, traces, layout, config).then(() => {
    scaleBar();
    map.on("plotly_relayout", scaleBar);
    map.on("plotly_relayouting", scaleBar);
    map.on("plotly_doubleclick", whole);
    map.on("plotly_hover", (e) => {
      const p = e.points[0],
        say = tips[p.curveNumber];
      if (!say) return;
      tip.textContent = say(p.pointNumber); // text, never markup: ids are the user's
      tip.hidden = false;
      const r = stage.getBoundingClientRect(),
        px = e.event.clientX - r.left,
        py = e.event.clientY - r.top;
      tip.style.left = Math.max(4, Math.min(px + 14, r.width - tip.offsetWidth - 4)) + "px";
      tip.style.top =
        Math.max(4, py + 14 + tip.offsetHeight > r.height ? py - 10 - tip.offsetHeight : py + 14) +
        "px";
    });
    map.on("plotly_unhover", () => {
      tip.hidden = true;
    });
    document
      .querySelectorAll("#layers input")
      .forEach((box) => box.addEventListener("change", () => toggle(box.value, box.checked)));
    document
      .querySelectorAll("tbody tr")
      .forEach((row) =>
        row.addEventListener("click", () => go(data.centers[Number(row.dataset.center)])),
      );
    fitted = layout.width + "x" + layout.height;
    new ResizeObserver(resized).observe(stage);
    document.documentElement.dataset.ready = kind;
  });
})();
