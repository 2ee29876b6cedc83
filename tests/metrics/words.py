"""The metric of docs/your-own-metric.md."""

from dataclasses import dataclass

import numpy as np

import metricdp as mdp


@dataclass
class EditDistance(mdp.RowMetric):
    """Letters to add, drop or change."""

    ids: list[str]

    unit = 1.0
    on_grid = True

    def distance_rows(self, sources, targets=None):
        targets = range(len(self.ids)) if targets is None else targets
        rows = [[edits(self.ids[s], self.ids[t]) for t in targets] for s in sources]
        return np.array(rows, dtype=float).reshape(len(sources), len(targets))

    def diameter_bound(self):
        return float(max(map(len, self.ids)))


def edits(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


WORDS = ["flour", "floor", "flower", "tower", "towel", "trowel", "bread", "broad", "road", "roads"]
