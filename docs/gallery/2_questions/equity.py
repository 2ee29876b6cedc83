"""
Fairness between near and far
=============================

A few remote households have little weight in a mean. :class:`metricdp.objectives.Equity` gives them
more weight, the more the larger the aversion to inequality.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp

coins = np.random.default_rng(5)
homes = np.concatenate([coins.normal([3, 3], 1, (500, 2)), coins.normal([9, 8], 0.4, (25, 2))])
metric = mdp.EuclideanMetric(homes)

plans = {"k-median": mdp.solve(metric, mdp.objectives.KMedian(k=2))}
for aversion in (0.5, 2):
    plans[f"aversion {aversion}"] = mdp.solve(metric, mdp.objectives.Equity(k=2, aversion=aversion))

# %%
# Share of the households (from below) that have a site within a distance (to the right).

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, plan in plans.items():
    away = np.sort(metric.nearest(plan.centers)[1])
    axes.plot(away, np.arange(1, len(away) + 1) / len(away), label=f"{name}: worst {away[-1]:.1f}")
axes.set_xlabel("distance to the nearest site")
axes.set_ylabel("share of households")
axes.legend()
plt.show()
