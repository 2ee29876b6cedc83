"""
Sites with capacities
=====================

The nearest clinic may be full. With capacities, the answer also assigns the demand to sites.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

graph = nx.grid_2d_graph(20, 20)
metric = mdp.GraphMetric(graph, weight=None)
coins = np.random.default_rng(1)
crowd, rest = coins.normal([4, 4], 1, (1_800, 2)), coins.uniform(0, 19, (1_200, 2))
homes = np.concatenate([crowd, rest]).round().clip(0, 19).astype(int)
demand = mdp.PrivateDemand(metric, [tuple(at) for at in homes.tolist()])
release = mdp.release(metric, demand, epsilon=1, ledger=mdp.Ledger(epsilon=1))

# %%
# Six sites, without capacities and with a capacity of 550 each.

free = release.k_median(k=6)
full = mdp.solve(release, mdp.objectives.Capacitated(k=6, capacities=550), time_limit=1)
print("mean distance:", round(free.mean, 2), "without,", round(full.mean, 2), "with capacities")

# %%

figure, panels = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
for axes, plan, name in zip(panels, (free, full), ("no capacities", "at most 550 each")):
    loads = sorted(plan.loads.values(), reverse=True)
    axes.bar(range(1, 7), loads, color="#0072B2")
    axes.axhline(550, color="#D55E00", linestyle="--")
    axes.set_title(name)
    axes.set_xlabel("site")
panels[0].set_ylabel("noisy demand served")
plt.show()
