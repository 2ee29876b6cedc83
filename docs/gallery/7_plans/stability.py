"""
Would the sites stand elsewhere?
================================

Noise moves sites. ``stability`` draws demands from the release and searches sites for each. It
reports the probability that the exact demand would have a site near each of these. As
post-processing it costs nothing.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.grid_2d_graph(25, 25), weight=None)
coins = np.random.default_rng(3)
towns = [coins.normal(at, 1.5, (900, 2)) for at in ([4, 5], [18, 6], [11, 18])]
homes = np.concatenate([*towns, coins.uniform(0, 24, (1_300, 2))]).round().clip(0, 24).astype(int)
demand = mdp.PrivateDemand(metric, [tuple(at) for at in homes.tolist()])
plan = mdp.k_median(metric, demand, k=5, epsilon="1/2", ledger=mdp.Ledger(epsilon=1))
firm = plan.stability()
print(firm.sentence("blocks"))

# %%
# The wider the halo, the less certain the site. ``plan.save("map.html", stability=True)`` draws
# them on a page.

at = np.array(plan.centers)
figure, axes = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
axes.scatter(*np.array(metric.ids).T, c="#CCCCCC", s=2 + 3 * np.maximum(plan.weights, 0))
axes.scatter(*at.T, s=60 + 1_500 * firm.doubt, c="#E69F00", alpha=0.5)
axes.scatter(*at.T, marker="*", s=110, c="black", zorder=3)
for i, (x, y) in enumerate(at):
    axes.annotate(firm.of_site(i), (x, y), xytext=(8, 6), textcoords="offset points")
axes.set_aspect("equal")
axes.set_axis_off()
plt.show()
