"""
Times that differ by direction
==============================

Ambulances drive from the station to the patient, patients drive to a clinic. With one-way streets
and hills these are different questions (:doc:`/docs/directed`).
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

# %%
# A city of one-way streets on a slope: going east, uphill, takes three times as long.

graph = nx.DiGraph()
for x in range(16):
    for y in range(16):
        if x < 15:
            graph.add_edge((x, y), (x + 1, y), time=3)
            graph.add_edge((x + 1, y), (x, y), time=1)
        if y < 15:
            graph.add_edge(*([(x, y), (x, y + 1)] if x % 2 else [(x, y + 1), (x, y)]), time=1)
        elif x < 15:  # the two ends of one-way streets are joined
            graph.add_edge((x, 0), (x + 1, 0), time=1)

coins = np.random.default_rng(0)
homes = [tuple(at) for at in coins.integers([8, 0], [16, 16], (2_000, 2)).tolist()]

# %%
# The same private homes, asked for in both directions.

figure, panels = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True, layout="constrained")
for axes, direction in zip(panels, ("to-center", "from-center")):
    metric = mdp.GraphMetric(graph, weight="time", directed=True, direction=direction)
    demand = mdp.PrivateDemand(metric, homes)
    result = mdp.k_median(metric, demand, k=4, epsilon=1, ledger=mdp.Ledger(epsilon=1))
    axes.scatter(*np.array(metric.ids).T, c=result.labels, cmap="Set2", s=30)
    axes.scatter(*np.array(result.centers).T, marker="*", s=300, c="black")
    axes.set_title(f"{direction}: mean time {result.interval.estimate:.1f}")
    axes.set_xlabel("uphill →")
    axes.set_aspect("equal")
plt.show()
