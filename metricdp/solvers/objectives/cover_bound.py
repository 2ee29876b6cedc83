"""How much k sites can cover at most where reach cannot be listed: Lagrange's relaxation, with what
every place collects bounded by drawn points.

Whoever covers u is no farther from a point p than the limit plus the distance of u and p. So a
place d away from p covers nobody nearer to p than d - limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from metricdp.kernels.reach import lower_by_table
from metricdp.metrics.base import Metric
from metricdp.solvers.objectives.instance import WITHIN, Floats, Instance, Positions
from metricdp.solvers.objectives.rows import ReachLists

_NEIGHBORS = 12
"""Of a drawn point, at most."""
_STEPS = 128
"""Of a table of distances: they are rounded so that the bound holds."""
_AROUND = 1.5
"""So many times the radius of a point's own demand is where a neighbor's is looked for."""


def cover_bound(
    instance: Instance, points: Positions, limit: float, worth: Floats, price: Floats, k: int
) -> float:
    """Of the coverage of any k sites: everybody takes the levels that are worth more than the
    price, and the k places that collect most are opened.

    A search around every point, and the memory of those whose neighbors are under way.
    """
    whole = worth.sum(axis=0)
    looking = _Looking(instance, points, limit, whole * price)
    collected = np.zeros(len(instance.allowed))
    for places, amounts in looking:
        if instance.deadline.over:
            return float(whole.sum())
        collected[places] += amounts
    fixed = np.searchsorted(instance.allowed, instance.opened)
    total = float(np.maximum(worth - looking.paid, 0.0).sum() + collected[fixed].sum())
    collected[fixed] = 0.0
    left = k - len(fixed)
    if left:
        total += float(np.partition(collected, -left)[-left:].sum())
    return min(total * (1 + len(whole) * np.finfo(float).eps), float(whole.sum()))


class _Seen(NamedTuple):
    """Around a point: places near it with distances, and demand with distances."""

    places: NDArray[np.int32]
    away: Floats
    clients: Positions
    far: Floats


class _Looking:
    """Bounds of what places collect of each point's demand, point by point.

    `paid` (n_demand,): prices; 0 for the few who are too far from their point to be looked for.
    """

    def __init__(self, instance: Instance, points: Positions, limit: float, paid: Floats) -> None:
        self.instance, self.points = instance, points
        self.limit = limit * (1 + WITHIN)
        around = instance.metric.symmetric
        label, distance = around.nearest_to(points)
        self._links = _neighbors(around, points, label)
        label, self._distance = label[instance.demand].astype(np.int64), distance[instance.demand]
        reach = float(np.quantile(self._distance, 0.999))
        self.paid = np.where(self._distance > reach, 0.0, paid)
        self._order = np.argsort(label, kind="stable")
        self._starts = np.searchsorted(label[self._order], np.arange(len(points) + 1))
        self._costs = ReachLists(instance, points)
        self._costs.radius = limit + reach
        everywhere = np.arange(len(around))
        self._near = ReachLists(replace(instance, metric=around, allowed=everywhere), points)
        self._near.radius = _AROUND * float(np.quantile(self._distance, 0.99))
        self._place = np.full(len(around), -1, np.int64)
        self._place[instance.demand] = np.arange(len(instance.demand))
        self._seen: dict[int, _Seen] = {}

    def __iter__(self) -> Iterator[tuple[NDArray[np.int32], Floats]]:
        """Indices into the allowed places, each once, and bounds of what they collect."""
        order = reverse_cuthill_mckee(self._links, symmetric_mode=True)
        turn = np.empty(len(order), np.int64)
        turn[order] = np.arange(len(order))
        links = self._links
        rows = np.repeat(np.arange(len(order)), np.diff(links.indptr))
        last = turn.copy()  # a point is asked for by itself and by those whose neighbor it is
        np.maximum.at(last, links.indices, turn[rows])
        away = np.full(len(self.instance.allowed), self._costs.radius)
        far = np.full(len(self.instance.demand), np.inf)
        for now, j in enumerate(order.tolist()):
            neighbors = links.indices[links.indptr[j] : links.indptr[j + 1]].tolist()
            yield self._collected(j, neighbors, away, far)
            for i in [j, *neighbors]:
                if last[i] <= now:
                    self._seen.pop(i, None)

    def _collected(
        self, j: int, neighbors: list[int], away: Floats, far: Floats
    ) -> tuple[NDArray[np.int32], Floats]:
        own = self._order[self._starts[j] : self._starts[j + 1]]
        seen = self._look(j)
        places, paid = seen.places, self.paid[own]
        amounts = np.full(len(places), paid.sum())
        if not len(own):
            return places, amounts
        away[places] = seen.away
        table = self._table(self._distance[own], paid)
        lower_by_table(places, np.arange(len(places)), away, *table, amounts)
        away[places] = self._costs.radius
        nobody = self.limit - self._distance[own].max()
        open_ = np.flatnonzero((amounts > 0) & (seen.away > nobody))  # others reach all, or none
        for i in neighbors:
            other = self._look(i)
            away[other.places] = other.away
            far[other.clients] = other.far
            lower_by_table(places, open_, away, *self._table(far[own], paid), amounts)
            away[other.places] = self._costs.radius
            far[other.clients] = np.inf
        return places, amounts

    def _table(self, far: Floats, paid: Floats) -> tuple[float, float, Floats]:
        """Costs of serving a point, and prices within the limit, for `lower_by_table`."""
        known = far[far < np.inf]
        low = float(known.min()) if len(known) else 0.0
        wide = float(known.max()) - low if len(known) else 0.0
        step = max(wide / _STEPS, 1e-6 * self.limit) or 1.0
        order = np.argsort(-far)
        sums = np.r_[0.0, np.cumsum(paid[order])]
        least = low + step * np.arange(_STEPS + 2)
        rounded = WITHIN * (self.limit + np.abs(least))
        table = sums[np.searchsorted(-far[order], rounded - least, side="right")]
        table[0] = sums[-1]
        return low + self.limit, step, table

    def _look(self, i: int) -> _Seen:
        if i not in self._seen:
            places, away = self._costs.near(i)
            near, far = self._near.near(i)
            clients = self._place[near]
            inside = clients >= 0
            self._seen[i] = _Seen(places.astype(np.int32), away, clients[inside], far[inside])
        return self._seen[i]


def _neighbors(metric: Metric, points: Positions, label: NDArray[np.int64]) -> csr_array:
    """Links between points: neighbors in the graph or in space."""
    m = len(points)
    if metric.network is None:
        rows = metric.distance_rows(points, points)
        most = min(_NEIGHBORS, m - 1)
        heads = np.argsort(rows, axis=1, kind="stable")[:, : most + 1].ravel()
        tails = np.repeat(np.arange(m), most + 1)
    else:
        indptr, indices, _ = metric.network.csr
        inner = label[metric.network.order]
        tails, heads = np.repeat(inner, np.diff(indptr)), inner[indices]
    apart = tails != heads
    pair, count = np.unique(tails[apart].astype(np.int64) * m + heads[apart], return_counts=True)
    tails, heads = pair // m, pair % m
    order = np.lexsort((-count, tails))  # those first that touch most
    starts = np.searchsorted(tails, np.arange(m))
    kept = order[np.arange(len(order)) - starts[tails[order]] < _NEIGHBORS]
    shape = (m, m)
    return csr_array((np.ones(len(kept)), (tails[kept], heads[kept])), shape=shape)
