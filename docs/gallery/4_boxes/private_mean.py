"""
Private means and medians
=========================

One center, found by private steps. The better its place is known, the smaller the noise of the
next step (:doc:`/docs/private-centers`). Far records pull a mean, but hardly a median.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp

coins = np.random.default_rng(0)
points = np.concatenate(
    [coins.normal([30, 60], 3, (4_500, 2)), coins.normal([90, 10], 2, (500, 2))]
)
space = mdp.EuclideanSpace([0, 0], [100, 100])
demand = mdp.PrivateDemand(space, points)
means = [mdp.private_mean(space, demand, epsilon="1/50").centers[0] for _ in range(15)]
medians = [mdp.private_median(space, demand, epsilon="1/50").centers[0] for _ in range(15)]

# %%
# Fifteen independent releases of each, to see how they scatter. (Fifteen times the price, too.)

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
axes.scatter(*points[::5].T, s=2, c="lightgray")
axes.scatter(*np.array(means).T, c="#0072B2", s=20, label="private means")
axes.scatter(*np.array(medians).T, c="#D55E00", s=20, label="private medians")
axes.scatter(*points.mean(axis=0), marker="+", s=200, c="black", label="exact mean")
axes.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
axes.legend()
plt.show()
