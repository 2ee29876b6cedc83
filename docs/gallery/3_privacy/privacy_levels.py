"""
Privacy levels side by side
===========================

:func:`metricdp.explore` releases several levels, charged together. Its page with a slider is for
administrators; here the same levels as pictures.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.grid_2d_graph(30, 30), weight=None)
coins = np.random.default_rng(2)
spots = np.array([[5, 6], [22, 8], [14, 24]])
homes = np.clip(coins.normal(spots[coins.integers(3, size=1_500)], 2).round(), 0, 29).astype(int)
demand = mdp.PrivateDemand(metric, [tuple(at) for at in homes.tolist()])

ledger = mdp.Ledger(epsilon=2)
levels = mdp.explore(
    metric, demand, epsilons=["0.02", "0.1", 1], k=3, ledger=ledger,
    names=["high", "medium", "low"], repeats=0,
)  # fmt: skip
print(ledger)

# %%
# The released demand, and centers found for it. Privacy grows to the right.

figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for axes, level in zip(panels, levels.levels):
    image = level.result.release.weights.reshape(30, 30).T
    axes.imshow(np.maximum(image, 0), origin="lower", cmap="Blues", vmax=20)
    axes.scatter(*np.array(level.result.centers).T, marker="*", s=150, c="#D55E00")
    axes.set_title(f"privacy {level.name}: ε = {float(level.epsilon):g}")
    axes.set_axis_off()
plt.show()
