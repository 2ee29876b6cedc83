"""
The farthest point: p-center beside k-median
============================================

The k-median minimizes the mean distance, the p-center the largest one. Weights are public here, so
the radius can be proven optimal.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp

coins = np.random.default_rng(3)
towns = np.concatenate([coins.normal([2, 2], 0.6, (220, 2)), coins.random((60, 2)) * 10])
metric = mdp.EuclideanMetric(towns)

median = mdp.solve(metric, mdp.objectives.KMedian(k=4))
center = mdp.solve(metric, mdp.objectives.PCenter(k=4))
print(f"p-center: radius {center.value:.2f}, proven to be within {center.gap:.1%} of the least")

# %%

figure, panels = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True, layout="constrained")
for axes, plan, name in zip(panels, (median, center), ("k-median", "p-center")):
    away = metric.nearest(plan.centers)[1]
    axes.scatter(*towns.T, c=away, cmap="viridis", s=14, vmin=0, vmax=5)
    sites = towns[list(plan.centers)]
    axes.scatter(*sites.T, marker="*", s=200, c="#D55E00", edgecolors="black")
    for at in sites:
        axes.add_patch(plt.Circle(at, away.max(), fill=False, color="gray", alpha=0.5))
    axes.set_title(f"{name}: mean {away.mean():.2f}, worst {away.max():.2f}")
    axes.set_aspect("equal")
    axes.set(xlim=(-1, 11), ylim=(-1, 11))
plt.show()
