"""
Synthetic points in place of jittered ones
==========================================

Points drawn from a release look like homes, and are nobody's. Draw as many as you like.
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
homes = np.loadtxt(sample_path("coquimbo_demand.csv.gz"), dtype=np.int64, skiprows=1)
demand = mdp.PrivateDemand(metric, homes.tolist())
release = mdp.release(metric, demand, epsilon="1/2", ledger=mdp.Ledger(epsilon=1))
points = release.sample(5_000)
print(points)

# %%
# Left the private homes: we may draw them only because they are invented.

place = metric.coordinates
figure, panels = plt.subplots(1, 2, figsize=(9, 5.4), layout="constrained")
for axes, ids, name in zip(panels, (homes, list(points)), ("private", "synthetic, ε = 1/2")):
    axes.scatter(*place.T, s=0.2, c="#CCCCCC")
    axes.scatter(*place[metric.positions(ids)].T, s=3, c="#0072B2", alpha=0.4)
    axes.set_aspect(1 / np.cos(np.radians(place[:, 1].mean())))
    axes.set_axis_off()
    axes.set_title(name)
plt.show()
