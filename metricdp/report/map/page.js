// The map of one answer: what its points and centers say, and its table.

let names = null,
  apart = null;
const level = data.levels[0];
const about = {
  name: "metricdp-map",
  aboutCenter: servedBy,
  aboutPoint: (i) => {
    if (!names || !apart) return null;
    const { label, weight } = ready[0],
      far = isFinite(apart[i]) ? inWords(apart[i], data.measure) : "unreachable";
    return (
      names[i] +
      "\nterritory of center " +
      level.centers[label[i]].rank +
      "\ndistance to it " +
      far +
      (weight ? "\n" + data.mass + " " + amount(weight[i]) : "")
    );
  },
};
document
  .querySelectorAll("tr[data-center]")
  .forEach((row) =>
    row.addEventListener("click", () => go(level.centers[Number(row.dataset.center)])),
  );
await begin(about);
if (data.ids) [names, apart] = [JSON.parse(await inflated(data.ids).text()), await steps(data.far)];
