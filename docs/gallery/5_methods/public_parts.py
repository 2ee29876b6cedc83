"""
The parts that are counted
==========================

The default method counts the demand in the parts of a public partition, with noise. More records or
a larger epsilon allow more parts.
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
ledger = mdp.Ledger(epsilon=2)

place = metric.coordinates
figure, panels = plt.subplots(1, 2, figsize=(9, 5.4), layout="constrained")
coins = np.random.default_rng(0)
for axes, epsilon in zip(panels, ("0.05", "1")):
    parts = mdp.release(metric, demand, epsilon=epsilon, ledger=ledger).partition
    color = coins.permutation(parts.n_parts)[parts.labels]
    axes.scatter(*place.T, c=color, cmap="tab20", s=0.8)
    axes.set_aspect(1 / np.cos(np.radians(place[:, 1].mean())))
    axes.set_axis_off()
    axes.set_title(f"ε = {epsilon}: {parts.n_parts:,} parts")
plt.show()
