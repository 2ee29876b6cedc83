"""
A metric of one's own: words
============================

Anything with distances can be a universe. Here points are words, and their distance is the number
of letters to change, add or drop. Ten lines make a metric of it (:doc:`/docs/your-own-metric`).
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import metricdp as mdp


def edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, above = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
    return row[-1]


@dataclass
class EditDistance(mdp.RowMetric):
    """Letters to add, drop or change."""

    ids: list[str]

    def distance_rows(self, sources, targets=None):
        targets = range(len(self.ids)) if targets is None else targets
        rows = [[edits(self.ids[s], self.ids[t]) for t in targets] for s in sources]
        return np.array(rows, dtype=float).reshape(len(sources), len(targets))


words = EditDistance(
    """flour floor flower flow slow tower towel bowel bow cow cat cart chart heart hearth earth cast
    coast toast roast rest nest best""".split()  # noqa: SIM905
)

# %%
# What people typed is private. Two words represent it.

typed = ["floor"] * 300 + ["flow"] * 250 + ["cast"] * 300 + ["roast"] * 200 + ["towel"] * 20
demand = mdp.PrivateDemand(words, typed)
result = mdp.k_median(words, demand, k=2, epsilon=1, ledger=mdp.Ledger(epsilon=1))
print(result.centers)

# %%
# Words at most two letters apart are joined; size is the noisy number of people, color the nearer
# center.

away = words.distances(words.ids)
graph = nx.from_numpy_array(away <= 2)
graph.remove_edges_from(nx.selfloop_edges(graph))
place = nx.kamada_kawai_layout(nx.from_numpy_array(away))
figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
nx.draw_networkx_edges(graph, place, alpha=0.2, ax=axes)
size = 60 + 4 * np.maximum(result.release.weights, 0)
nx.draw_networkx_nodes(graph, place, node_size=size, node_color=result.labels, cmap="Set2", ax=axes)
nx.draw_networkx_labels(graph, place, dict(enumerate(words.ids)), font_size=9, ax=axes)
axes.set_axis_off()
axes.set_title("centers: " + " and ".join(result.centers))
plt.show()
