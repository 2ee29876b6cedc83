"""
One set of sites for morning and evening
========================================

Demand and travel times change with the hour. Each period has its own release and its own travel
times. One set of sites serves both, chosen for the mean of the two costs or for the worse one.
Sites for averaged travel times would be neither.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp

side, coins = 24, np.random.default_rng(0)
graph = nx.grid_2d_graph(side, side)
for (x, y), (u, v), edge in graph.edges(data=True):
    middle = 12 < x + u < 34 and 12 < y + v < 34
    edge["morning"] = 3.0 if middle else 1.0  # the center is jammed
    edge["evening"] = 1.0 if middle else 2.0
metrics = [mdp.GraphMetric(graph, weight=name) for name in ("morning", "evening")]
ledger = mdp.Ledger(epsilon=1)
releases = []
for metric, (x, y) in zip(metrics, ((5, 17), (17, 8))):
    homes = np.clip(coins.normal((x, y), 4, (3_000, 2)).round(), 0, side - 1).astype(int)
    people = mdp.PrivateDemand(metric, [tuple(at) for at in homes.tolist()])
    releases.append(mdp.release(metric, people, epsilon="1/2", ledger=ledger))

# %%

figure, panels = plt.subplots(1, 2, figsize=(8, 4.2), layout="constrained")
for axes, how in zip(panels, ("mean", "worst")):
    plan = mdp.solve(releases, mdp.objectives.KMedian(k=5), scenarios=how, time_limit=3)
    weights = [np.maximum(release.weights, 0) for release in releases]
    for held, color in zip(weights, ("#0072B2", "#E69F00")):
        axes.scatter(*np.array(metric.ids).T, s=400 * held / held.sum(), c=color, alpha=0.6)
    axes.scatter(*np.array(plan.centers).T, marker="*", s=160, c="black", zorder=3)
    means = " and ".join(f"{day.mean:.2f}" for day in plan.scenarios)
    axes.set_title(f"{how}: {means} minutes")
    axes.set_aspect("equal")
    axes.set_axis_off()
plt.show()
