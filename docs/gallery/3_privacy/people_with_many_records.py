"""
People with many records
========================

A guarantee for records is weak for those who have many. Protect people: keep a few records of each,
or give everybody one unit of weight over all their records.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.path_graph(100), weight=None)

# %%
# A thousand people are on the left; thirty couriers on the right write fifty records each.

coins = np.random.default_rng(3)
left = coins.normal(25, 8, 1_000).round().clip(0, 99).astype(int)
right = coins.normal(80, 4, (30, 50)).round().clip(0, 99).astype(int)
places = [*left.tolist(), *right.ravel().tolist()]
people = [*range(1_000), *np.repeat(np.arange(1_000, 1_030), 50).tolist()]

demands = {
    "records": mdp.PrivateDemand(metric, places),
    "at most 2 records a person": mdp.PrivateDemand(
        metric, places, user=people, max_contributions=2
    ),
    "one unit a person": mdp.PrivateDemand(metric, places, user=people, weighting="share"),
}

# %%

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, demand in demands.items():
    release = mdp.release(metric, demand, epsilon=1, ledger=mdp.Ledger(epsilon=1))
    axes.plot(release.weights, label=name)
axes.set_xlabel("place")
axes.set_ylabel("released weight")
axes.legend()
plt.show()
