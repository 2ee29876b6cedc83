"""
Error bars for free
===================

The distribution of the noise is known, so a release also knows how large its error may be. Its
intervals are computed from released numbers alone and cost nothing. :doc:`/docs/evaluation`
says when they hold.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.grid_2d_graph(25, 25), weight=None)
coins = np.random.default_rng(0)
spots = coins.integers(0, 25, (8, 2))
homes = np.clip(coins.normal(spots[coins.integers(8, size=3_000)], 2).round(), 0, 24).astype(int)
demand = mdp.PrivateDemand(metric, [tuple(at) for at in homes.tolist()])
ledger = mdp.Ledger(epsilon=2)

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for shift, epsilon in enumerate(("0.1", "0.5", "1")):
    release = mdp.release(metric, demand, epsilon=epsilon, ledger=ledger)
    ks = np.array([2, 5, 10, 20])
    intervals = [release.k_median(k=int(k)).interval for k in ks]
    middle = np.array([one.estimate for one in intervals])
    reach = [middle - [one.low for one in intervals], [one.high for one in intervals] - middle]
    x = np.arange(len(ks)) + 0.15 * (shift - 1)
    axes.errorbar(x, middle, reach, fmt="o", capsize=4, label=f"ε = {epsilon}")
axes.set_xticks(range(len(ks)), ks)
axes.set_xlabel("k")
axes.set_ylabel("mean hops to a center, 95 %")
axes.legend()
plt.show()
