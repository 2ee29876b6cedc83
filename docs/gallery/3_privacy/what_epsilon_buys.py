"""
What epsilon buys
=================

Before a budget is spent, :func:`metricdp.plan` runs the real mechanism on simulated demand. It
predicts what each epsilon costs in accuracy, from public information alone.
"""

import matplotlib.pyplot as plt
import networkx as nx

import metricdp as mdp

graph = nx.random_geometric_graph(300, 0.1, seed=6)
graph = graph.subgraph(max(nx.connected_components(graph), key=len))
metric = mdp.GraphMetric(graph, weight=None)
epsilons = ["0.05", "0.2", "0.5", 2]
planned = mdp.plan(metric, records=1_000, k=6, epsilons=epsilons, repeats=1)
print(planned)

# %%
# Each line is a kind of simulated demand; real demand lies somewhere among them. Beyond some
# epsilon, a larger budget gains little.

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
x = [float(epsilon) for epsilon in planned.epsilons]
for j, shape in enumerate(planned.shapes):
    y = [100 * planned.forecast(i, j).median for i in range(len(x))]
    axes.plot(x, y, "o-", label=shape.name)
axes.set_xscale("log")
axes.set_xlabel("epsilon")
axes.set_ylabel("cost beyond the best known, %")
axes.legend()
plt.show()
