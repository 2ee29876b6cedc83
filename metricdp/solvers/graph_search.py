"""Swap local search on a graph without a distance matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.shortest_paths import FAR
from metricdp.kernels.two_nearest import NOBODY, first_improving_swap, removal_losses, repair_two_nearest
from metricdp.metrics.graph import GraphMetric


class GraphSearch:
    """Centers on a graph with the nearest and second-nearest center of every vertex, kept exact through swaps.

    Parameters
    ----------
    metric : GraphMetric
    weights : ndarray of float64, shape (n_points,)
        Demand of every vertex in the order of `metric.ids`; may be negative.
    centers : ndarray of int64, shape (k,)
        Positions to start from, distinct.
    power : {1, 2}
        k-median or k-means cost.
    tolerance : float
        A swap must lower the cost by more than this fraction of it.

    Attributes
    ----------
    cost : float
        Current cost, in units of length (or squared length) times weight.
    tried : int
        Candidates evaluated so far.

    Notes
    -----
    Trying a candidate enters about 2·n/k vertices, a swap repairs about 4·n/k; memory is O(n + m) whatever k.
    """

    def __init__(
        self, metric: GraphMetric, weights: NDArray[np.float64], centers: NDArray[np.int64], power: int = 1, tolerance: float = 1e-6
    ) -> None:
        n, k = len(metric), len(centers)
        self.metric, self.power, self.tolerance = metric, power, tolerance
        self._weights = np.ascontiguousarray(weights[metric.order])
        self._centers = metric.rank[centers]
        self._first, self._second = np.full(n, NOBODY), np.full(n, NOBODY)
        self._d_first, self._d_second = np.full(n, FAR), np.full(n, FAR)
        room = 4 * len(metric.csr[1]) + k + 1
        self._keys, self._payload = np.empty(room, np.int64), np.empty(room, np.int64)
        self._scratch, self._touched = np.full(n, FAR), np.empty(n, np.int64)
        self._losses = np.empty(k, np.float64)
        self.tried = 0
        self._refresh(np.ones(k, bool))

    @property
    def centers(self) -> NDArray[np.int64]:
        """Positions of the centers, shape (k,)."""
        return self.metric.order[self._centers]

    def _refresh(self, moved: NDArray[np.bool_]) -> None:
        labels = (self._first, self._second, self._d_first, self._d_second)
        repair_two_nearest(*self.metric.csr, moved, self._centers, *labels, self._keys, self._payload)
        self.cost = removal_losses(
            self._first, self._d_first, self._d_second, self._weights, self.metric.unit, self.power, self._losses
        )

    def improve(self, candidates: NDArray[np.int64], most: int | None = None) -> int:
        """Try candidates (internal numbers) in order, taking every improving swap; returns the number of swaps."""
        swaps, start = 0, 0
        if most is not None:
            candidates = candidates[:most]
        taken = np.zeros(len(self.metric), bool)
        while start < len(candidates):
            taken[:] = False
            taken[self._centers] = True
            index, slot, _ = first_improving_swap(
                *self.metric.csr, self._weights, self.metric.unit, self.power, candidates, start,
                self._first, self._d_first, self._d_second, self._losses, -self.tolerance * abs(self.cost),
                self._scratch, self._touched, self._keys, self._payload,
            )  # fmt: skip
            self.tried += (len(candidates) if index < 0 else index + 1) - start
            if index < 0:
                break
            start = index + 1
            if not taken[candidates[index]]:
                self._centers[slot] = candidates[index]
                moved = np.zeros(len(self._centers), bool)
                moved[slot] = True
                self._refresh(moved)
                swaps += 1
        return swaps

    def sweep(self, rng: np.random.Generator, passes: int = 1) -> None:
        """Full passes over all vertices in random order, until one changes nothing or `passes` are done."""
        for _ in range(passes):
            if not self.improve(rng.permutation(len(self.metric))):
                break

    def near(self, hops: int, sample: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Up to `sample` random vertices within `hops` hops of each center."""
        found = []
        for center in self._centers:
            ball = self._ball(center, hops)
            found.append(ball if len(ball) <= sample else rng.choice(ball, sample, replace=False))
        return rng.permutation(np.concatenate(found))

    def _ball(self, center: int, hops: int) -> NDArray[np.int64]:
        indptr, indices, _ = self.metric.csr
        ball = frontier = np.array([center])
        for _ in range(hops):
            reached = np.concatenate([indices[indptr[v] : indptr[v + 1]] for v in frontier])
            frontier = np.setdiff1d(reached, ball)
            if len(frontier) == 0:
                break
            ball = np.r_[ball, frontier]
        return ball[1:].astype(np.int64)

    def probable(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """`count` vertices drawn by weight × cost: where demand is served badly (Lattanzi & Sohler, ICML 2019)."""
        mass = np.cumsum(np.maximum(self._weights, 0.0) * (self._d_first * self.metric.unit) ** self.power)
        if mass[-1] <= 0:
            return np.empty(0, np.int64)
        return np.minimum(np.searchsorted(mass, rng.random(count) * mass[-1], side="right"), len(mass) - 1)

    def descend(self, rng: np.random.Generator, most: int) -> None:
        """Move centers to neighboring vertices until no such move lowers the cost, or `most` more candidates have been tried."""
        stop = self.tried + most
        while self.tried < stop and self.improve(self.near(1, 1 << 30, rng), stop - self.tried):
            pass
