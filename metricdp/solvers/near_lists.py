"""Costs as searches and proofs need them: the candidates near each demand point, and its two
nearest centers. From a block of all costs, or without one by k-d trees, bounded searches along
edges, or rows of distances that are not kept.
"""

from __future__ import annotations

import os
from copy import copy
from itertools import chain
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from metricdp.arguments import Floats, Ints, chunks
from metricdp.kernels.near_swaps import near_of_block
from metricdp.kernels.shortest_paths import searched_lists, workspace
from metricdp.metrics.base import Metric
from metricdp.solvers.block import block_search
from metricdp.solvers.stopping import NEVER, Deadline
from metricdp.threads import in_threads

_TREE_DIMENSIONS = 8
_QUERIES = 1024
"""Demand points of one query to a k-d tree."""
_DENSE = 0.03
"""Share of all candidates above which rows of distances are faster than a k-d tree."""


class Places(NamedTuple):
    """Weights of all points; positions of demand, of candidates, and of required ones."""

    weights: Floats
    demand: Ints
    allowed: Ints
    fixed: Ints


def places(
    metric: Metric, weights: Floats, candidates: Ints | None = None, opened: Ints | None = None
) -> Places:
    """Demand has a nonzero weight; if none has, all points weigh 1. By default all are
    candidates.
    """
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened)
    demand = np.flatnonzero(weights)
    if len(demand) == 0:
        demand, weights = np.arange(len(metric)), np.ones(len(metric))
    allowed = np.arange(len(metric.sites))
    if candidates is not None:
        allowed = np.union1d(candidates, fixed).astype(np.int64)
    return Places(weights, demand, allowed, fixed)


class Asked(TypedDict, total=False):
    """What a search and its proof are asked alike."""

    power: int
    candidates: Ints | None
    opened: Ints | None


class NearLists(NamedTuple):
    """Candidates near demand points, each list in ascending order of cost.

    `start` (n_demand + 1,): where each demand point's list begins.
    """

    start: Ints
    site: NDArray[np.int32]
    cost: NDArray[Any]


class BlockCosts:
    """Costs from a block of all of them, shape (n_candidates, n_demand). `weights` (n_demand,)."""

    def __init__(self, block: NDArray[Any], weights: Floats, deadline: Deadline = NEVER) -> None:
        self.block = block
        self.shape = (block.shape[0], block.shape[1])
        self.weights = weights
        self.deadline = deadline

    @property
    def integral(self) -> bool:
        """Whether all costs times weights are known to be integers; known once lists were made."""
        return _are_integers(self.weights) and _are_integers(self.block)

    def two_nearest(self, rows: Ints) -> tuple[Floats, Floats]:
        """Costs of every demand point from its two cheapest rows; of one row twice the same."""
        return _two_least(self.block[rows])

    def lists(self, reach: Floats, most: int) -> NearLists | None:
        """Pairs that cost less than `reach` (n_demand,); None if they are more than `most`."""
        found = near_of_block(self.block, reach, most)
        return None if found is None else NearLists(*found)

    def new_start(self, k: int, fixed: Ints, rng: np.random.Generator) -> Ints | None:
        """Good rows from a new random start, `fixed` first; None where a search is too slow."""
        found = block_search(self.block, self.weights, k, rng, opened=fixed, deadline=self.deadline)
        return found[0]

    def among(self, rows: Ints) -> BlockCosts:
        """Costs from these candidates alone, renumbered."""
        return BlockCosts(self.block[rows], self.weights, self.deadline)


class MetricCosts:
    """The same from a metric, without a block.

    `allowed`, `demand`: positions, ascending; `weights` (n_demand,); `steps`: whether to count in
    steps of the metric's grid, on which all distances are, rather than in its units.
    """

    def __init__(
        self,
        metric: Metric,
        allowed: Ints,
        demand: Ints,
        weights: Floats,
        power: int = 1,
        steps: bool = False,
    ) -> None:
        self.metric = metric
        self.allowed = allowed
        self.demand = demand
        self.shape = (len(allowed), len(demand))
        self.weights = weights
        self.power = power
        self.steps = steps
        self._integral = steps
        self._points: Any = None
        self._norm = 2.0
        vectors = None if steps else metric.vectors
        if vectors is not None and vectors.points.shape[1] <= _TREE_DIMENSIONS:
            self._points, self._norm = vectors
            self._integral = self._norm in (1.0, np.inf) and _are_integers(self._points)

    @property
    def integral(self) -> bool:
        """See `BlockCosts`; known in grid steps, from coordinates, or pair by pair."""
        return self._integral and _are_integers(self.weights)

    @property
    def by_tree(self) -> bool:
        """Whether near pairs are found by a k-d tree."""
        return self._points is not None

    def _rows(self, sources: Ints, targets: Ints) -> Floats:
        measure = self.metric.grid_rows if self.steps else self.metric.distance_rows
        return measure(sources, targets).astype(np.float64, "C")

    def two_nearest(self, rows: Ints) -> tuple[Floats, Floats]:
        """See `BlockCosts`: one search along edges, a k-d tree of the centers, or their rows."""
        centers = self.allowed[rows]
        metric = self.metric
        second = min(2, len(rows))
        if metric.network is not None:
            found = metric.two_nearest(centers)
            own = metric.inner(self.demand)
            unit = 1.0 if self.steps else metric.unit
            two = np.array([found.near[own], (found.far if second > 1 else found.near)[own]]) * unit
        elif self._points is not None:
            tree = cKDTree(self._points[centers])
            p = self._norm
            two = tree.query(self._points[self.demand], k=[1, second], p=p)[0].T
        else:
            two = np.empty((2, len(self.demand)))
            for part in chunks(len(self.demand), len(centers)):
                two[:, part] = _two_least(self._rows(centers, self.demand[part]))
        return two[0] ** self.power, two[1] ** self.power

    def lists(self, reach: Floats, most: int) -> NearLists | None:
        """See `BlockCosts`: bounded searches, a k-d tree of the candidates, or rows."""
        within = np.minimum(reach, 1e300) ** (1 / self.power)
        if self.metric.network is not None:
            found = self._by_searches(within, most)
        elif self._points is not None:
            found = self._by_tree(within, most)
        else:
            found = self._by_rows(within, most)
        if found is None:
            return None
        return NearLists(found.start, found.site, found.cost**self.power)

    def new_start(self, k: int, fixed: Ints, rng: np.random.Generator) -> Ints | None:
        """None: too slow."""
        return None

    def among(self, rows: Ints) -> MetricCosts:
        """See `BlockCosts`."""
        restricted = copy(self)
        restricted.allowed, restricted.shape = self.allowed[rows], (len(rows), len(self.demand))
        return restricted

    def _by_searches(self, within: Floats, most: int) -> NearLists | None:
        metric = self.metric
        network = metric.network
        assert network is not None
        index = np.full(len(metric), -1, np.int32)
        index[metric.inner(self.allowed)] = np.arange(len(self.allowed))
        indptr, indices, _ = network.csr
        graph = (indptr, indices, network.back)  # towards the client
        unit = 1.0 if self.steps else network.unit
        radii = np.minimum(np.ceil(within / unit) - 1, 2.0**60).astype(np.int64)
        sources = metric.inner(self.demand)
        threads = os.cpu_count() or 1
        size = -(-len(sources) // threads)
        parts: list[Any] = [None] * threads

        def work(t: int) -> None:
            part = slice(t * size, (t + 1) * size)
            space = workspace(len(metric), len(indices))
            parts[t] = searched_lists(graph, sources[part], radii[part], index, most, space)

        in_threads(work, range(threads))
        return _concatenated([NearLists(*part) for part in parts], most, unit)

    def _by_tree(self, within: Floats, most: int) -> NearLists | None:
        tree = cKDTree(self._points[self.allowed])
        p = self._norm
        parts = []
        total = 0
        for at in range(0, len(self.demand), _QUERIES):
            part = slice(at, at + _QUERIES)
            places = self._points[self.demand[part]]
            count = tree.query_ball_point(places, within[part], p=p, return_length=True)
            total += int(count.sum())
            if total > most:
                return None
            if at == 0 and total > _DENSE * len(places) * len(self.allowed):
                return self._by_rows(within, most)
            near = tree.query_ball_point(places, within[part], p=p)
            site = np.fromiter(chain.from_iterable(near), np.int32, int(count.sum()))
            difference = np.repeat(places, count, axis=0) - self._points[self.allowed[site]]
            cost = (
                np.abs(difference).sum(axis=1) if p == 1 else np.sqrt((difference**2).sum(axis=1))
            )
            if p not in (1, 2):
                cost = np.abs(difference).max(axis=1)
            parts.append(_sort_lists(np.r_[0, np.cumsum(count)], site, cost, within[part]))
        return _concatenated(parts, most, 1.0)

    def _by_rows(self, within: Floats, most: int) -> NearLists | None:
        parts = []
        integral = True
        for part in chunks(len(self.demand), len(self.allowed)):
            rows = self._rows(self.allowed, self.demand[part])
            integral = integral and _are_integers(rows)
            near = near_of_block(rows, within[part], most)
            if near is None:
                return None
            parts.append(NearLists(*near))
            most -= len(near[1])
        self._integral = integral
        return _concatenated(parts, np.inf, 1.0)


Costs = BlockCosts | MetricCosts
"""Either of the two."""


def _are_integers(values: NDArray[Any]) -> bool:
    return bool((values == np.rint(values)).all())


def _two_least(costs: NDArray[Any]) -> tuple[Floats, Floats]:
    """The least and the second least of each column; of one row twice the same."""
    two = np.partition(costs, min(1, len(costs) - 1), axis=0)[:2]
    return two[0].astype(np.float64), two[-1].astype(np.float64)


def _sort_lists(start: Ints, site: NDArray[np.int32], cost: Floats, within: Floats) -> NearLists:
    """Sort each list by cost, without pairs that do not cost less than `within`."""
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    near = cost < within[owner]
    owner, site, cost = owner[near], site[near], cost[near]
    order = np.lexsort((cost, owner))
    count = np.bincount(owner, minlength=len(start) - 1)
    return NearLists(np.r_[0, np.cumsum(count)], site[order], cost[order])


def _concatenated(parts: list[NearLists], most: float, unit: float) -> NearLists | None:
    """The lists of consecutive groups of demand points as one; None beyond `most` entries."""
    begin = np.cumsum([0, *(part.start[-1] for part in parts)])
    if begin[-1] > most:
        return None
    start = np.concatenate([[0], *(at + part.start[1:] for at, part in zip(begin, parts))])
    site = np.concatenate([part.site for part in parts])
    return NearLists(start, site, np.concatenate([part.cost for part in parts]) * unit)
