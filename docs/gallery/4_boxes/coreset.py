"""
A private coreset
=================

A few weighted points represent all private ones. Publish them, and anybody may cluster them, any
number of times.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp

coins = np.random.default_rng(1)
middles = coins.uniform(10, 90, (5, 2))
points = middles[coins.integers(5, size=10_000)] + coins.normal(0, 5, (10_000, 2))
space = mdp.EuclideanSpace([0, 0], [100, 100])
demand = mdp.PrivateDemand(space, points)

release = mdp.k_means(space, demand, k=5, epsilon=1, method="coreset").release
coreset = release.coreset()
small = release.coreset(5)
print(len(coreset.points), "weighted points, and", len(small.points), "good for up to 5 centers")

# %%

figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
panels[0].scatter(*points[::5].T, s=1, c="gray")
panels[0].set_title("10,000 private points")
for axes, chosen in zip(panels[1:], (coreset, small)):
    weights = np.maximum(chosen.weights, 0)
    axes.scatter(*np.asarray(chosen.points).T, s=300 * weights / weights.max(), alpha=0.5)
    axes.set_title(f"{len(chosen.points):,} released")
for axes in panels:
    axes.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
plt.show()
