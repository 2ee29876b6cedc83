"""
Expansion in stages
===================

Three sites now, six next year, twelve in the end, and none is ever moved. ``Nested`` makes the
worst stage as good as it can; what staying costs is told at each stage.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricdp as mdp
from metricdp.universe import sample_path

metric = mdp.read_graph(
    sample_path("coquimbo.csv.gz"),
    nodes=sample_path("coquimbo_nodes.csv.gz"),
    symmetrize=True,
    largest_component=True,
)
demand = mdp.PrivateDemand.from_frame(metric, sample_path("coquimbo_demand.csv.gz"))
release = mdp.release(metric, demand, epsilon=1, ledger=mdp.Ledger(epsilon=1))
plan = mdp.solve(release, mdp.objectives.Nested(ks=[3, 6, 12]))

# %%

place = metric.coordinates
figure, panels = plt.subplots(1, 3, figsize=(9, 4.6), layout="constrained")
before = 0
for axes, stage in zip(panels, plan.stages):
    open_now = plan.centers[: stage.k]
    axes.scatter(*place.T, c=metric.nearest(open_now)[1], s=0.5, cmap="Greys_r", vmax=6_000)
    old, new = open_now[:before], open_now[before:]
    for centers, color in ((old, "#0072B2"), (new, "#D55E00")):
        if centers:
            axes.scatter(*place[metric.positions(centers)].T, marker="*", s=110, c=color, zorder=3)
    axes.set_title(f"{stage.k} sites: {100 * (stage.price - 1):.1f} % above\nthe best {stage.k}")
    axes.set_aspect(1 / np.cos(np.radians(place[:, 1].mean())))
    axes.set_axis_off()
    before = stage.k
plt.show()
