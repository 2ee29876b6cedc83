"""Swap local search on a graph without a distance matrix."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.shortest_paths import FAR
from metricdp.kernels.tree_medians import tree_medians
from metricdp.kernels.two_nearest import NOBODY, removal_losses, repair_two_nearest, swap_changes
from metricdp.metrics.graph import GraphMetric, in_threads

_BATCH = 16


def recentered(metric: GraphMetric, weights: NDArray[np.float64], centers: NDArray[np.int64], most: int = 12) -> NDArray[np.int64]:
    """Move all centers at once to the medians of their shortest-path trees, again and again while that lowers the cost.

    Parameters
    ----------
    metric : GraphMetric
    weights : ndarray of float64, shape (n_points,)
        Demand; negative entries count as none here.
    centers : ndarray of int64, shape (k,)
        Positions.
    most : int
        Most steps; each costs about two Dijkstras.

    Returns
    -------
    ndarray of int64, shape (k,)
        Positions of no higher k-median cost.
    """
    mass = np.ascontiguousarray(np.maximum(weights, 0.0)[metric.order])
    current, best, cost = metric.rank[centers], metric.rank[centers], np.inf
    distance = np.empty(len(metric), np.int64)
    for _ in range(most + 1):
        medians = np.empty(len(current), np.int64)
        tree_medians(*metric.csr, mass, current, medians, distance)
        reached = float(mass @ distance)
        if reached >= cost * (1 - 1e-4):
            return metric.order[current if reached < cost else best]
        best, cost = current, reached
        if np.array_equal(medians, current) or len(np.unique(medians)) < len(medians):
            break
        current = medians
    return metric.order[best]


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
    allowed : ndarray of int64, optional
        Positions where centers may stand; anywhere by default.
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
        self,
        metric: GraphMetric,
        weights: NDArray[np.float64],
        centers: NDArray[np.int64],
        power: int = 1,
        *,
        allowed: NDArray[np.int64] | None = None,
        tolerance: float = 1e-6,
    ) -> None:
        n, k = len(metric), len(centers)
        self._may_open = np.full(n, allowed is None)
        if allowed is not None:
            self._may_open[metric.rank[allowed]] = True
        self.metric, self.power, self.tolerance = metric, power, tolerance
        self._weights = np.ascontiguousarray(weights[metric.order])
        self._centers = metric.rank[centers]
        self._first, self._second = np.full(n, NOBODY), np.full(n, NOBODY)
        self._d_first, self._d_second = np.full(n, FAR), np.full(n, FAR)
        room = 4 * len(metric.csr[1]) + k + 1
        self._keys, self._payload = np.empty(room, np.int64), np.empty(room, np.int64)
        arcs = len(metric.csr[1]) + 1
        self._spaces = [
            (np.full(n, FAR), np.empty(n, np.int64), np.empty(arcs, np.int64), np.empty(arcs, np.int64)) for _ in range(os.cpu_count() or 1)
        ]
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
        """Try candidates (internal numbers) in order, taking improving swaps; returns how many were taken.

        Candidates are tried in batches on all processors. The best improving one of a batch is taken, the other improving ones are tried
        again against the new centers: the result does not depend on the number of threads.
        """
        swaps, tried = 0, 0
        queue = candidates[self._may_open[candidates]][:most]
        while len(queue):
            batch, queue = queue[:_BATCH], queue[_BATCH:]
            batch = np.setdiff1d(batch, self._centers)
            if most is not None and tried >= 2 * most:
                break
            slots, changes = self._try(batch)
            tried += len(batch)
            better = np.flatnonzero(changes < -self.tolerance * abs(self.cost))
            if len(better) == 0:
                continue
            best = better[np.argmin(changes[better])]
            self._move(int(slots[best]), int(batch[best]))
            queue = np.r_[np.delete(batch[better], np.searchsorted(better, best)), queue]
            swaps += 1
        self.tried += tried
        return swaps

    def _try(self, candidates: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Slot to replace and change of cost of every candidate."""
        slots, changes = np.empty(len(candidates), np.int64), np.empty(len(candidates), np.float64)

        def work(part: int) -> None:
            mine = slice(part, None, len(self._spaces))
            found, gains = np.empty(len(candidates[mine]), np.int64), np.empty(len(candidates[mine]), np.float64)
            labels = (self._first, self._d_first, self._d_second, self._losses)
            swap_changes(
                *self.metric.csr, self._weights, self.metric.unit, self.power, np.ascontiguousarray(candidates[mine]), *labels,
                *self._spaces[part], found, gains,
            )  # fmt: skip
            slots[mine], changes[mine] = found, gains

        in_threads(work, range(min(len(self._spaces), len(candidates))))
        return slots, changes

    def _move(self, slot: int, vertex: int) -> None:
        self._centers[slot] = vertex
        moved = np.zeros(len(self._centers), bool)
        moved[slot] = True
        self._refresh(moved)

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
        """Draw `count` vertices by weight × cost: where demand is served badly (Lattanzi & Sohler, ICML 2019)."""
        mass = np.cumsum(np.maximum(self._weights, 0.0) * (self._d_first * self.metric.unit) ** self.power)
        if mass[-1] <= 0:
            return np.empty(0, np.int64)
        return np.minimum(np.searchsorted(mass, rng.random(count) * mass[-1], side="right"), len(mass) - 1)

    def descend(self, rng: np.random.Generator, most: int) -> None:
        """Move centers to neighboring vertices until no such move lowers the cost, or `most` more candidates have been tried."""
        stop = self.tried + most
        while self.tried < stop and self.improve(self.near(1, len(self.metric), rng), stop - self.tried):
            pass
