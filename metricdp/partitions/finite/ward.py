"""The public hierarchy of a finite universe, and partitions cut from it: a Ward tree over
well-spread landmarks, continued inside a landmark's cell only where a cut needs it. It is a
function of (universe, seed) alone.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Bools, Floats, Ints, Singles
from metricdp.kernels.tree_posterior import summed_up
from metricdp.kernels.ward import node_costs, ward_tree
from metricdp.metrics.base import Metric
from metricdp.metrics.identity_cache import IdentityCache
from metricdp.metrics.landmarks import landmarks
from metricdp.progress import progress

_INNER_LANDMARKS = 32
_COARSE = 16
"""Parts of the coarser of the two partitions that `Hierarchy.growth` compares."""


@dataclass(frozen=True, eq=False)
class PartitionTree:
    """A partition of a universe, with the binary tree above its parts.

    `labels` (n_points,): parts of the points; `children` (n_parts - 1, 2): of node n_parts + i, the
    root last; `sizes` (2 n_parts - 1,): points of each node; `nodes`: their numbers in the
    hierarchy. With expected `weights` of points, sizes are sums of weights, and `numbers` count
    points.
    """

    universe: Metric
    labels: NDArray[np.int32]
    children: Ints
    sizes: Floats
    nodes: Ints | None = None
    weights: Floats | None = None
    numbers: Floats | None = None

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.children) + 1

    def encode(self, records: Ints) -> Ints:
        """Part of each record (a position)."""
        return self.labels[records].astype(np.int64)

    def even(self) -> Self:
        """The same parts without expected weights: sizes are numbers of points."""
        if self.numbers is None:
            return self
        return replace(self, sizes=self.numbers, weights=None, numbers=None)

    def spread(self, amounts: Floats) -> Floats:
        """One amount a part, spread over its points evenly or by expected weight, (n_points,)."""
        each: Floats = (amounts / self.sizes[: self.n_parts])[self.labels]
        return each if self.weights is None else each * self.weights

    def parts_in(self, finer: PartitionTree) -> Ints:
        """The nodes of a finer cut of the same hierarchy that are this one's parts, in order."""
        order = np.argsort(_numbers(finer))
        parts = _numbers(self)[: self.n_parts]
        return order[np.searchsorted(_numbers(finer), parts, sorter=order)]


def upwards(parts: NDArray[Any], children: Ints) -> Floats:
    """Sums of parts below every node of a tree, children first, shape (2 n_parts - 1,)."""
    return summed_up(parts.astype(np.float64), children)


class Hierarchy:
    """Ward hierarchy of a universe, grown on demand, by a public `seed`.

    The top is Ward's tree of 1,280 landmarks, weighted by the sizes of their cells. A cut that goes
    deeper refines a cell by Ward's criterion on its points, or on 32 of them. Public `expected`
    weights change the sizes of cuts and not the hierarchy, as later rounds could not correct parts
    that follow a wrong expectation.
    """

    expected: Floats | None = None

    def __init__(self, universe: Metric, seed: int = 0) -> None:
        self.universe = universe
        self._seed = seed
        self.left: list[int] = []
        self.right: list[int] = []
        self.size: list[float] = []
        self.cost: list[float] = []
        self.points: dict[int, Ints] = {}
        top = landmarks(self._metric, seed=seed)
        every = np.arange(len(universe))
        self.root = self._graft(None, every, top.label, top.distance, top.between)

    def cut(
        self,
        n_parts: int,
        density: Floats | None = None,
        least: float = 0.0,
        visible: Bools | None = None,
    ) -> PartitionTree:
        """Partition into at most `n_parts` parts, by splitting nodes greedily, the one that costs
        most to serve first.

        With a public `density` (n_points,), a node's cost is multiplied by its mean density. A node
        of less than `least` weight is not split, unless it has one of the `visible` points
        (n_points,).
        """
        n_parts = min(n_parts, len(self.universe))
        weight = None if density is None else self._weights_of(density)
        n_visible = None if visible is None else self._weights_of(visible.astype(np.float64))

        def urgency(node: int) -> float:
            return (
                self.cost[node]
                if weight is None
                else self.cost[node] * weight(node) / self.size[node]
            )

        heap = [(-urgency(self.root), self.root)]
        # nodes in the order in which they left the heap: split ones, and -1 - node of final parts
        internal: list[int] = []
        finished = 0
        bar = progress(total=n_parts, label="public partition", unit="part")
        while heap and len(heap) + finished < n_parts:
            _, node = heapq.heappop(heap)
            light = weight is not None and weight(node) < least
            light = light and not (n_visible and n_visible(node))
            if light or (self.left[node] < 0 and not self._refine(node)):
                internal.append(-1 - node)
                finished += 1
                continue
            internal.append(node)
            for child in (self.left[node], self.right[node]):
                # ties (zero-cost nodes of several points) go to the larger one
                heapq.heappush(heap, (-urgency(child) - 1e-300 * self.size[child], child))
            bar.update(1)
        bar.close()
        parts = [node for _, node in heap] + [-1 - i for i in internal if i < 0]
        return self._partition(sorted(parts), [i for i in internal if i >= 0])

    def joined(self, cuts: Sequence[PartitionTree]) -> PartitionTree:
        """The coarsest partition that is finer than all these cuts."""
        if len(cuts) == 1:
            return cuts[0]
        split = {v for cut in cuts for v in _numbers(cut)[cut.n_parts :].tolist()}
        parts = []
        internal = []
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node in split:
                internal.append(node)
                stack += [self.left[node], self.right[node]]
            else:
                parts.append(node)
        return self._partition(sorted(parts), internal)

    def growth(self) -> float:
        """The dimension d in which balls grow: 16 times as many parts cost 16^(1/d) times less to
        serve. About 2 on roads and in the plane, 4 to 6 on social networks.
        """
        finer = min(16 * _COARSE, len(self.universe) // 4)
        if finer < 4 * _COARSE:
            return 1.0
        coarse, fine = (
            sum(self.cost[v] for v in _numbers(self.cut(m))[:m].tolist()) for m in (_COARSE, finer)
        )
        if fine <= 0:
            return 1.0
        return math.log(finer / _COARSE) / math.log(coarse / fine) if coarse > fine else math.inf

    def _weights_of(self, density: Floats) -> Callable[[int], float]:
        """The sum of a density over a node's points, as a function that caches its results."""
        known: dict[int, float] = {}

        def weight(node: int) -> float:
            if node in known:
                return known[node]
            stack = [node]
            while stack:
                v = stack[-1]
                below = (
                    []
                    if v in known or v in self.points
                    else [c for c in (self.left[v], self.right[v]) if c not in known]
                )
                if below:
                    stack += below
                    continue
                if v not in known:
                    known[v] = (
                        float(density[self.points[v]].sum())
                        if v in self.points
                        else known[self.left[v]] + known[self.right[v]]
                    )
                stack.pop()
            return known[node]

        return weight

    def _partition(self, parts: list[int], internal: list[int]) -> PartitionTree:
        number = {node: i for i, node in enumerate(parts)}
        for node in reversed(internal):  # a child is split after its parent
            number[node] = len(number)
        children = np.array(
            [[number[self.left[v]], number[self.right[v]]] for v in reversed(internal)], np.int64
        ).reshape(-1, 2)
        labels = np.empty(len(self.universe), np.int32)
        for node, part in list(number.items())[: len(parts)]:
            stack = [node]
            while stack:
                v = stack.pop()
                if v in self.points:
                    labels[self.points[v]] = part
                else:
                    stack += [self.left[v], self.right[v]]
        sizes = np.array([self.size[v] for v in number])
        nodes = np.fromiter(number, np.int64, len(number))
        if self.expected is None:
            return PartitionTree(self.universe, labels, children, sizes, nodes)
        numbers = upwards(np.bincount(labels, minlength=len(parts)), children)
        sizes = upwards(np.bincount(labels, self.expected, len(parts)), children)
        return PartitionTree(self.universe, labels, children, sizes, nodes, self.expected, numbers)

    @property
    def _metric(self) -> Metric:
        """The metric of the hierarchy: symmetric, where the universe's is not."""
        return self.universe.symmetric

    def _refine(self, leaf: int) -> bool:
        """Replace a leaf by the hierarchy of its points; False for a single point."""
        points = self.points[leaf]
        if len(points) < 2:
            return False
        if len(points) <= _INNER_LANDMARKS:
            between = self._metric.inner_distances(points, np.arange(len(points)))
            label = np.arange(len(points))
            distance = np.zeros(len(points))
        else:
            # coins of the leaf's own: the result does not depend on what was refined before
            rng = np.random.default_rng([self._seed, int(points.min()), len(points)])
            chosen = np.sort(rng.choice(len(points), _INNER_LANDMARKS, replace=False))
            rows = self._metric.inner_distances(points, chosen)
            label = rows.argmin(axis=0)
            label[chosen] = np.arange(len(chosen))
            distance = rows[label, np.arange(len(points))].astype(np.float64)
            between = np.ascontiguousarray(rows[:, chosen])
        self._graft(leaf, points, label, distance, between)
        return True

    def _graft(
        self,
        leaf: int | None,
        points: Ints,
        label: NDArray[Any],
        distance: Floats,
        between: Singles,
    ) -> int:
        """Append the Ward tree of cells of `points`, in place of a leaf if one is given, and return
        its root.

        `label`, `distance` (n_points,): each point's landmark and its distance; `between` (m, m):
        distances of the landmarks.
        """
        m, between = len(between), np.ascontiguousarray(between)
        counts = np.bincount(label, minlength=m)
        sizes = counts.astype(np.float64)
        within = np.bincount(label, distance, minlength=m)
        children = ward_tree(between * between, sizes) if m > 1 else np.empty((0, 2), np.int64)
        size, cost = node_costs(children, between, sizes, within)
        first = len(self.left)
        n_new = 2 * m - 1 - (leaf is not None)  # a grafted root takes the leaf's place
        place = np.arange(first, first + 2 * m - 1)
        if leaf is not None:
            place[-1] = leaf
            del self.points[leaf]
        self.left += [-1] * n_new
        self.right += [-1] * n_new
        self.size += size[:n_new].tolist()
        self.cost += cost[:n_new].tolist()
        for i, (a, b) in enumerate(children):
            self.left[place[m + i]], self.right[place[m + i]] = int(place[a]), int(place[b])
        members = np.argsort(label, kind="stable")
        for i, run in enumerate(np.split(points[members], np.cumsum(counts)[:-1])):
            self.points[int(place[i])] = run
        return int(place[-1])


def _numbers(cut: PartitionTree) -> Ints:
    assert cut.nodes is not None
    return cut.nodes


_hierarchies = IdentityCache()


def hierarchy(universe: Metric, seed: int = 0, expected: Floats | None = None) -> Hierarchy:
    """The universe's hierarchy for this seed, with expected weights (n_points,); cached as long as
    the universe lives.
    """
    known: dict[int, Hierarchy] = _hierarchies.of(universe)
    if seed not in known:
        known[seed] = Hierarchy(universe, seed)
        del known[seed].universe  # a value of the cache must not keep its key alive
    cached = copy(known[seed])  # shares all that has been grown so far
    cached.universe = universe
    cached.expected = expected
    return cached
