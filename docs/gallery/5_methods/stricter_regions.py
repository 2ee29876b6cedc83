"""
Stricter privacy in some places
===============================

People near a clinic, a prison or a shelter may need more protection than others. Each region of the
public map can have an epsilon of its own.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.grid_2d_graph(30, 30), weight=None)
coins = np.random.default_rng(2)
homes = coins.integers(0, 30, (9_000, 2)).tolist()
demand = mdp.PrivateDemand(metric, [tuple(at) for at in homes])

labels = {(x, y): "shelter" for x in range(10, 20) for y in range(10, 20)}
strict = mdp.methods.Regional(regions={"shelter": "1/50", "elsewhere": 1}, labels=labels)
result = mdp.k_median(metric, demand, k=4, epsilon=1, method=strict, ledger=mdp.Ledger(epsilon=1))

# %%
# The released weights: fine where epsilon is 1, a blur in the square where it is 1/50.

figure, axes = plt.subplots(figsize=(5.6, 5), layout="constrained")
image = axes.imshow(result.release.weights.reshape(30, 30).T, origin="lower", cmap="viridis")
axes.add_patch(plt.Rectangle((9.5, 9.5), 10, 10, fill=False, color="#D55E00", linewidth=2))
figure.colorbar(image, label="released weight")
axes.set_axis_off()
plt.show()
