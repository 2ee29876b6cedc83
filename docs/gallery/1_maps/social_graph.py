"""
Hidden members of a social graph
================================

Who knows whom is public here; who is in the group is not. Centers are people who are close to the
group, by number of hops.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

graph = nx.relaxed_caveman_graph(12, 15, p=0.06, seed=1)
graph = graph.subgraph(max(nx.connected_components(graph), key=len))
metric = mdp.GraphMetric(graph, weight=None)

# %%
# The group lives in three of the twelve circles of friends.

coins = np.random.default_rng(0)
members = np.concatenate([coins.integers(15 * c, 15 * c + 15, 400) for c in (1, 4, 9)])
demand = mdp.PrivateDemand(metric, members.tolist())
result = mdp.k_median(metric, demand, k=3, epsilon=1, ledger=mdp.Ledger(epsilon=1))
print("centers:", result.centers)

# %%
# The picture shows what was released: darker people stand for more of the (noisy) group. The three
# circles stand out, and no single member does.

place = nx.spring_layout(graph, seed=3, iterations=80)
figure, axes = plt.subplots(figsize=(7, 7), layout="constrained")
nx.draw_networkx_edges(graph, place, alpha=0.15, ax=axes)
nx.draw_networkx_nodes(
    graph, place, nodelist=metric.ids, node_color=result.release.weights, cmap="Blues",
    edgecolors="gray", linewidths=0.5, node_size=60, ax=axes,
)  # fmt: skip
at = np.array([place[center] for center in result.centers])
axes.scatter(*at.T, marker="*", s=400, c="#D55E00", edgecolors="black", zorder=3)
axes.set_axis_off()
axes.set_title("three centers of a private group")
plt.show()
