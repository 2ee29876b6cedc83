"""
Methods side by side
====================

The default counts public parts with noise, ``hst`` counts the clusters of a public tree, private
local search draws swaps of centers, and ``uniform`` ignores the demand and costs nothing. All have
the same demand, epsilon and number of centers.
"""

import warnings

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.grid_2d_graph(20, 20), weight=None)
coins = np.random.default_rng(4)
spots = coins.integers(0, 20, (6, 2))
homes = np.clip(coins.normal(spots[coins.integers(6, size=2_000)], 1.5).round(), 0, 19).astype(int)
demand = mdp.PrivateDemand(metric, [tuple(at) for at in homes.tolist()])
warnings.simplefilter("ignore", mdp.PrivateDataWarning)  # invented people: we may look

best = mdp.k_median(metric, k=6, weights=np.bincount(homes @ [20, 1], minlength=400))
least = mdp.exact_cost(demand, best.centers)

# %%
# Three runs of each method.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for x, method in enumerate(("partition", "hst", "local-search", "uniform")):
    found = [mdp.k_median(metric, demand, k=6, epsilon="1/2", method=method) for _ in range(3)]
    ratio = [mdp.exact_cost(demand, one.centers) / least for one in found]
    axes.scatter([x] * 3, ratio, s=40, alpha=0.7)
    print(f"{method:>13}: {np.mean(ratio):.2f} times the best known cost")
axes.set_xticks(range(4), ["partition", "hst", "local-search", "uniform"])
axes.set_ylabel("cost / best known cost")
axes.set_yscale("log")
axes.set_yticks([1, 1.5, 2, 3, 4], [1, 1.5, 2, 3, 4])
axes.minorticks_off()
plt.show()
