// Service bands: what the page says of a point and of a site.

let names = null,
  apart = null;
await begin({
  name: "metricdp-bands",
  aboutCenter: (c) => "Center " + c.rank + " · " + c.id,
  aboutPoint: (i) =>
    names &&
    apart &&
    names[i] + "\n" + (isFinite(apart[i]) ? inWords(apart[i], data.measure) : "unreachable"),
});
if (data.ids) [names, apart] = [JSON.parse(await inflated(data.ids).text()), await steps(data.far)];
