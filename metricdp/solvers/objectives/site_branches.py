"""Branch and bound of capacitated k-median on how many rows open in a group of similar rows: nested
groups from average linkage of the rows' costs.
"""

from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from metricdp.arguments import Ints
from metricdp.solvers.objectives.instance import Floats

_FRACTIONAL, _INTEGRAL = 0.3, 0.02
"""A branch is on the largest group whose open rows are so far from an integer, if there is one;
what counts as an integer. Branching on the largest proves in a fifth of the time of the most
fractional one (100 clients in clusters, single sources, k = 5 to 7).
"""
_GROUPING = 4 * 10**9
"""n_rows² n_clients at most of the distances that join rows: some seconds."""

Counts = dict[int, tuple[int, int]]
"""By group: least and most open rows."""


class Ascent(NamedTuple):
    """Where a subgradient ascent ended: bound, dual prices of clients, worth of rows at them, rows
    that the relaxation opens, and how often it opened each row lately.
    """

    bound: float
    prices: Floats
    worth: Floats
    chosen: Ints
    frequency: Floats


class Branch(NamedTuple):
    """Solutions that open these counts of rows, with the bound of their relaxation."""

    bound: float
    number: int
    counts: Counts
    ascent: Ascent


class SiteGroups:
    """Rows of `costs` (n_rows, n_clients), joined two by two: group i < n_rows is row i alone, the
    last one all rows. Time O(n_rows² n_clients), or of a sample of clients where that is long.
    """

    def __init__(self, costs: Floats) -> None:
        self._members = [np.array([i]) for i in range(len(costs))]
        some = costs[:, :: 1 + len(costs) * costs.size // _GROUPING]
        joined = linkage(pdist(some), "average") if len(costs) > 1 else np.empty((0, 4))
        self._pairs = joined[:, :2].astype(np.int64)
        for a, b in self._pairs:
            self._members.append(np.r_[self._members[a], self._members[b]])
        self._size = np.array([len(rows) for rows in self._members])

    def root(self, k: int, fixed: Ints) -> Counts:
        """k rows in all, the fixed ones among them."""
        return {len(self._members) - 1: (k, k)} | {int(i): (1, 1) for i in fixed}

    def chosen(self, worth: Floats, counts: Counts) -> Ints:
        """Rows of largest worth within the counts; fewer than asked if they contradict each other.

        Groups are nested, so taking the best in each, from the smallest group on, is optimal.
        """
        taken, excluded = np.zeros((2, len(worth)), np.bool_)
        for group in sorted(counts, key=lambda g: int(self._size[g])):
            least, most = counts[group]
            rows = self._members[group]
            before = int(taken[rows].sum())
            free = rows[~(taken[rows] | excluded[rows])]
            free = free[np.argsort(-worth[free], kind="stable")]
            if before > most or before + len(free) < least:
                return np.empty(0, np.int64)
            taken[free[: max(least - before, 0)]] = True
            excluded[free[most - before :]] = True
        rows = np.flatnonzero(taken)
        return rows[np.argsort(-worth[rows], kind="stable")]

    def excluded(self, counts: Counts) -> Ints:
        """Rows of groups in which none may open."""
        none = [self._members[group] for group, (_, most) in counts.items() if most == 0]
        return np.concatenate([np.empty(0, np.int64), *none])

    def branches(self, branch: Branch) -> list[Counts]:
        """At most so many rows of a group, or more; none where all rows that open are decided."""
        opened = np.r_[branch.ascent.frequency, np.zeros(len(self._pairs))]
        for i, pair in enumerate(self._pairs, len(self._members) - len(self._pairs)):
            opened[i] = opened[pair].sum()
        counts, k = branch.counts, branch.counts[len(self._members) - 1][1]
        open_ = np.ones(len(opened), np.bool_)
        open_[[group for group, (least, most) in counts.items() if least == most]] = False
        away = np.where(open_, np.abs(opened - np.round(opened)), 0.0)
        if away.max() >= _INTEGRAL:
            likely = np.flatnonzero(away >= min(_FRACTIONAL, 0.9 * away.max()))
        else:
            likely = np.flatnonzero(open_ & (opened > 0.5))
        if len(likely) == 0:
            return []
        group = int(likely[self._size[likely].argmax()])
        least, limit = counts.get(group, (0, min(int(self._size[group]), k)))
        if away[group] >= _INTEGRAL:
            most = int(np.floor(opened[group]))
        else:  # on either side of what opens
            most = max(int(np.round(opened[group])) - 1, least)
        sides = [(least, most), (most + 1, limit)]
        made = [counts | {group: side} for side in sides if side[0] <= side[1]]
        return [made_ for made_ in made if len(self.chosen(np.zeros(len(self._pairs) + 1), made_))]
