// Centers: disks as wide as their neighbors allow, with numbers inside or beside them, halos of
// intervals, which of them is under the pointer, and what is said of it.

const MANY = 60; // centers in view beyond which none has its number on the map
const SIDES = [
  [1, 0],
  [-1, 0],
  [0, -1],
  [0, 1],
  [1, -1],
  [-1, -1],
  [1, 1],
  [-1, 1],
];
let circles = []; // {x, y, r, c, label} of the centers in view, in pixels
const sized = (level) => {
  // the centers in view and their disks
  const all = level.centers
    .filter((c) => c.x !== null)
    .map((c) => {
      const [x, y] = onScreen(c.x, c.y);
      return { c, x, y };
    });
  const seen = all.filter((m) => m.x > -40 && m.y > -40 && m.x < wide + 40 && m.y < high + 40),
    crowd = seen.length > MANY;
  const most = Math.min(wide, high) < 480 || seen.length > 30 ? 18 : 22;
  const clearance = (m) =>
    all.reduce((d, o) => (o === m ? d : Math.min(d, Math.hypot(o.x - m.x, o.y - m.y))), Infinity);
  return seen.map((m) => ({
    ...m,
    r: (crowd ? 11 : Math.round(Math.max(9, Math.min(most, clearance(m) - 4)))) / 2,
    label: null,
    crowd,
  }));
};
const labeled = (marks) => {
  // a number beside its disk stands where it covers least of disks and of other numbers
  const taken = marks.map((m) => [m.x - m.r - 3, m.y - m.r - 3, m.x + m.r + 3, m.y + m.r + 3]);
  const over = ([a, b, c, d], [e, f, g, h]) =>
    Math.max(0, Math.min(c, g) - Math.max(a, e)) * Math.max(0, Math.min(d, h) - Math.max(b, f));
  for (const m of marks) {
    if (m.crowd) continue;
    if (m.r >= 6.5) {
      m.label = [m.x, m.y];
      continue;
    }
    const half = 3.5 * String(m.c.rank).length + 1;
    const spot = ([dx, dy]) => {
      const x = m.x + dx * (m.r + 4 + half),
        y = m.y + dy * (dx ? 13 : m.r + 10);
      return [x - half, y - 6, x + half, y + 6];
    };
    const covered = (side) => taken.reduce((sum, t) => sum + over(spot(side), t), 0);
    const side = SIDES.reduce((best, s) => (covered(s) < covered(best) - 1e-9 ? s : best));
    const at = spot(side);
    taken.push(at);
    m.label = [(at[0] + at[2]) / 2, (at[1] + at[3]) / 2];
  }
  return marks;
};
const servedBy = (c) =>
  "Center " +
  c.rank +
  " · " +
  c.id +
  "\n" +
  many(c.vertices, data.noun) +
  " in its territory" +
  (c.mass === null ? "" : "\n" + data.mass + " " + amount(c.mass)) +
  (c.low === undefined ? "" : "\ninterval " + number(c.low) + " to " + number(c.high)) +
  (c.firm === undefined ? "" : "\n" + c.firm);
const disk = (x, y, r) => {
  pen.beginPath();
  pen.arc(x, y, r, 0, 2 * Math.PI);
};
const doubt = (c) =>
  c.doubt === undefined
    ? Math.min(1, (c.high - c.low) / 2 / Math.max(Math.abs(c.mass || 0), 1))
    : c.doubt;
const halos = (marks) => {
  // the wider, the less firm is the center, or the less is known of what stands in its territory
  pen.globalAlpha = 0.4;
  for (const { c, x, y } of marks) {
    if (c.low === undefined && c.doubt === undefined) continue;
    pen.fillStyle = data.palette[c.color];
    disk(x, y, 14 + 22 * doubt(c));
    pen.fill();
  }
  pen.globalAlpha = 1;
};
const numbered = ({ c, x, y, r, label }) => {
  const inside = label[0] === x && label[1] === y;
  pen.font = "650 " + (inside ? Math.max(9, 1.06 * r) : 11) + "px system-ui, sans-serif";
  pen.fillStyle = inside ? data.inks[c.color] : dark() ? "#e9e7e1" : "#22262b";
  if (!inside) {
    pen.strokeStyle = dark() ? "#25292e" : "#f4f2ec";
    pen.lineWidth = 3;
    pen.strokeText(c.rank, ...label);
  }
  pen.fillText(c.rank, ...label);
};
const diamonds = (exact) => {
  const r = circles.some((m) => m.crowd) ? 7 : 15;
  return exact.map((c) => {
    const [x, y] = onScreen(c.x, c.y);
    pen.fillStyle = "#fff";
    pen.strokeStyle = "#c01818";
    pen.lineWidth = 3;
    pen.beginPath();
    pen.moveTo(x + r, y);
    pen.lineTo(x, y + r);
    pen.lineTo(x - r, y);
    pen.lineTo(x, y - r);
    pen.closePath();
    pen.fill();
    pen.stroke();
    return { x, y, r, c };
  });
};
let exactMarks = [];
const centers = (level, dpr) => {
  pen.setTransform(dpr, 0, 0, dpr, 0, 0);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  circles = layers.centers === false ? [] : labeled(sized(level));
  exactMarks = layers.exact ? diamonds(data.exact || []) : [];
  halos(circles);
  for (const { x, y, r } of circles) {
    pen.fillStyle = "rgba(255,255,255,.95)";
    disk(x, y, r + 3);
    pen.fill();
  }
  pen.strokeStyle = "#22262b";
  pen.lineWidth = 2;
  for (const { x, y, r, c } of circles) {
    pen.fillStyle = data.palette[c.color];
    disk(x, y, r);
    pen.fill();
    pen.stroke();
  }
  circles.filter((m) => m.label).forEach(numbered);
};
const markAt = (marks, px, py, slack) =>
  // the nearest of those that the pointer touches
  marks.reduce(
    (best, m) => {
      const d = Math.hypot(m.x - px, m.y - py);
      return d <= m.r + slack && d < best.d ? { d, c: m.c } : best;
    },
    { d: Infinity, c: null },
  ).c;
