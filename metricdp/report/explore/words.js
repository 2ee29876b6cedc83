// What the page says about a level. Ids are the user's: they become text nodes, never HTML.

const slider = byId("level");
const element = (tag, text, parent) => {
  const e = document.createElement(tag);
  if (text !== null) e.textContent = text; // text, never markup: ids are the user's
  if (parent) parent.append(e);
  return e;
};
const words = () => {
  const l = data.levels[now],
    list = document.querySelector("#now dl"),
    rows = byId("centers");
  byId("chosen").textContent = l.name + " · ε = " + l.epsilon;
  slider.setAttribute("aria-valuetext", l.name + ", epsilon " + l.epsilon);
  if (l.forecast)
    element(
      "small",
      "predicted extra cost: half of runs below " +
        l.forecast[0] +
        ", 9 in 10 below " +
        l.forecast[1],
      byId("chosen"),
    );
  list.textContent = "";
  const fact = (name, value) => {
    element("dt", name, list);
    element("dd", value, list);
  };
  fact("Privacy", l.name + ", ε = " + l.epsilon);
  fact(
    "Attacker",
    "with even odds about one " +
      data.who +
      ": at most " +
      l.sure +
      " sure after this level alone" +
      (data.delta ? ", except with probability δ = " + data.delta : ""),
  );
  fact(
    "Coreset",
    l.size.toLocaleString("en-US") +
      " weighted " +
      data.noun +
      (l.parts ? ", from " + l.parts.toLocaleString("en-US") + " public parts" : ""),
  );
  fact(data.example ? "Simulated demand" : "Noisy demand", amount(l.total) + " in all");
  if (l.mean)
    fact(
      "Mean distance",
      l.mean[0] + ", " + l.mean[1] + " to " + l.mean[2] + " (95 % interval)",
    );
  rows.textContent = "";
  l.centers.forEach((c, i) => {
    const row = element("tr", null, rows),
      cell = element("td", null, row),
      button = element("button", null, cell);
    button.type = "button";
    button.title = "Show on the map";
    button.setAttribute("aria-label", "Center " + c.rank + ", " + c.id + ": show on the map");
    const mark = element("i", String(c.rank), button);
    mark.style.background = data.palette[c.color];
    mark.style.color = data.inks[c.color];
    element("span", c.id, button);
    element("td", c.vertices.toLocaleString("en-US"), row);
    element("td", amount(c.mass || 0), row);
    row.addEventListener("click", () => go(l.centers[i]));
  });
  document
    .querySelectorAll("[data-level]")
    .forEach((e) => e.classList.toggle("on", Number(e.dataset.level) === now));
};
