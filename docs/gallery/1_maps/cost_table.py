"""
A table of travel times
=======================

Routing engines (r5py, Valhalla, OSRM) give tables: sites by clients, not symmetric, some pairs out
of reach. :class:`metricdp.CostTable` takes them as they are.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp

# %%
# Thirty possible sites, four hundred blocks. A river makes crossing slow.

coins = np.random.default_rng(4)
sites, blocks = coins.random((30, 2)), coins.random((400, 2))
river = (sites[:, None, 0] < 0.5) != (blocks[None, :, 0] < 0.5)
minutes = 30 * np.linalg.norm(sites[:, None] - blocks[None], axis=2) + 25 * river
table = mdp.CostTable(minutes, sites=[f"S{i}" for i in range(30)], clients=range(400))

# %%
# Homes are private; centers are names of sites.

crowded = np.exp(-8 * np.linalg.norm(blocks - [0.8, 0.3], axis=1))
homes = coins.choice(400, 3_000, p=crowded / crowded.sum())
demand = mdp.PrivateDemand(table, homes.tolist())
result = mdp.k_median(table, demand, k=3, epsilon="1/2", ledger=mdp.Ledger(epsilon=1))
print(result.centers)

# %%

figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
axes.axvline(0.5, color="#56B4E9", linewidth=8, alpha=0.5)
size = 10 + 4 * np.maximum(result.release.weights, 0)[: len(blocks)]
axes.scatter(*blocks.T, c=result.labels[: len(blocks)], cmap="Set2", s=size)
axes.scatter(*sites.T, marker="^", c="lightgray", edgecolors="gray")
chosen = np.array([sites[int(name[1:])] for name in result.centers])
axes.scatter(*chosen.T, marker="^", s=160, c="black")
axes.set_title("chosen sites, and blocks by who serves them")
axes.set_axis_off()
plt.show()
