"""
Expansion in stages
===================

Three sites now, six next year, twelve in the end, and none is ever moved. ``Nested`` makes the
worst stage as good as possible, and reports at each stage what this restriction costs.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

metric = mdp.GraphMetric(nx.grid_2d_graph(25, 25), weight=None)
coins = np.random.default_rng(3)
towns = [coins.normal(at, 2, (900, 2)) for at in ([4, 5], [18, 6], [11, 18])]
homes = np.concatenate([*towns, coins.uniform(0, 24, (1_300, 2))]).round().clip(0, 24).astype(int)
demand = mdp.PrivateDemand(metric, [tuple(at) for at in homes.tolist()])
release = mdp.release(metric, demand, epsilon=1, ledger=mdp.Ledger(epsilon=1))
plan = mdp.solve(release, mdp.objectives.Nested(ks=[3, 6, 12]), time_limit=3)

# %%

place = np.array(metric.ids)
figure, panels = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained")
before = 0
for axes, stage in zip(panels, plan.stages):
    open_now = plan.centers[: stage.k]
    axes.scatter(*place.T, c=metric.nearest(open_now)[1], s=9, cmap="Greys_r", vmax=22)
    old, new = open_now[:before], open_now[before:]
    for centers, color in ((old, "#0072B2"), (new, "#D55E00")):
        if centers:
            axes.scatter(*np.array(centers).T, marker="*", s=110, c=color, zorder=3)
    axes.set_title(f"{stage.k} sites: {100 * (stage.price - 1):.1f} % above\nthe best {stage.k}")
    axes.set_aspect("equal")
    axes.set_axis_off()
    before = stage.k
plt.show()
