// Slider and ticks of the levels, and what centers say.

const show = async (i) => {
  // the slider's answer
  const start = performance.now();
  now = i;
  if (!ready[i]) await open(i);
  if (now !== i) return;
  draw();
  words();
  tip.hidden = true;
  requestAnimationFrame(() => {
    const c = new MessageChannel();
    c.port1.onmessage = () =>
      performance.measure("metricdp-level", { start, end: performance.now() });
    c.port2.postMessage(0);
  });
};
slider.addEventListener("input", () => show(Number(slider.value)));
document.querySelectorAll("[data-level]").forEach((e) =>
  e.addEventListener("click", () => {
    slider.value = e.dataset.level;
    show(Number(slider.value));
  }),
);
now = Number(slider.value);
words();
await begin({
  name: "metricdp-explore",
  aboutCenter: servedBy,
  aboutExact: (c) =>
    (data.example ? "Center found without noise · " : "Center without privacy · ") + c.id,
});
