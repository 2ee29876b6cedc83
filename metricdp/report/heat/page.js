// The heat map: what it says of a point.

let names = null,
  unsure = null;
const dense = (i) => {
  const { weight } = ready[0];
  const around = unsure ? " ± " + number(unsure.values[unsure.index[i]]) : "";
  return "demand per " + data.per + " " + number(weight[i]) + around;
};
await begin({
  name: "metricdp-heat",
  aboutPoint: (i) => (names ? names[i] + "\n" : "") + dense(i),
});
if (data.ids) names = JSON.parse(await inflated(data.ids).text());
if (data.doubt)
  unsure = { index: await integers(data.doubt.index), values: floats(data.doubt.values) };
