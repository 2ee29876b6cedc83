"""
How much trees stretch distances
================================

The distance of two points in a 2-HST is never shorter than in the metric, and in expectation over
the random trees at most O(log n) times as long. The mean of many trees varies less.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.grid_2d_graph(20, 20), weight=None)
coins = np.random.default_rng(0)
u, v = coins.choice(len(metric), (2, 4_000))
u, v = u[u != v], v[u != v]
true = np.abs(np.array(metric.ids)[u] - np.array(metric.ids)[v]).sum(axis=1)
stretch = np.array(
    [mdp.build_hst(metric, seed=s).position_distances(u, v) / true for s in range(40)]
)
print(f"least {stretch.min():.2f}, mean {stretch.mean():.1f}, log2 n = {np.log2(len(metric)):.1f}")

# %%

figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
panels[0].hist(stretch[0], bins=40, color="#56B4E9")
panels[0].set(xlabel="stretch of a pair, one tree", ylabel="pairs")
panels[1].hist(stretch.mean(axis=0), bins=40, color="#0072B2")
panels[1].set(xlabel="stretch of a pair, mean of 40 trees")
plt.show()
