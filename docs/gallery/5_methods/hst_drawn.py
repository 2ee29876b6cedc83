"""
A 2-HST, drawn
==============

A 2-HST is a tree of clusters within clusters, whose radii halve from level to level (Figure 1 of
Cohen-Addad et al., KDD 2022). On the left are the points and the clusters of three levels, on the
right the tree.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp

coins = np.random.default_rng(11)
points = np.concatenate([coins.normal(at, 0.5, (5, 2)) for at in ([0, 0], [6, 1], [3, 6])])
metric = mdp.EuclideanMetric(points)
tree = mdp.build_hst(metric, seed=2)
print(tree)

# %%
# The node of a single point ends its branch. Leaves from left to right in the tree's own order; a
# node stands above the middle of its leaves, as high as its level.

rank = np.argsort(tree.order)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
shown = [level for level in range(tree.n_levels) if 1 < len(tree.nodes_at(level)) < 15][:3]
for level, size in zip(shown, (900, 350, 90)):
    left.scatter(*points.T, s=size, c=tree.labels_at(level), cmap="tab20", alpha=0.35, linewidths=0)
left.scatter(*points.T, s=12, c="black")
left.set_title("disks of one color: a cluster (large: coarse)")
left.set_aspect("equal")
left.set_axis_off()

middle = np.array([rank[tree.order[a:b]].mean() for a, b in zip(tree.start, tree.stop)])
for node, parent in enumerate(tree.parent):
    if parent >= 0:
        x, y = middle[[node, parent]], -tree.level[[node, parent]].astype(float)
        right.plot([x[0], x[0], x[1]], [y[0], y[1], y[1]], color="gray", linewidth=1)
right.scatter(middle, -tree.level.astype(float), s=14, c="#0072B2", zorder=2)
deepest = int(tree.level.max()) + 1
right.set_yticks(-np.arange(deepest), [f"{height:.2g}" for height in tree.heights[:deepest]])
right.set_ylabel("radius of a cluster")
right.set_xticks([])
right.set_title("the tree: every edge halves the radius")
plt.show()
