"""Swap local search for k-median on a graph, without a distance matrix."""

import os
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.kernels import two_nearest as kernels
from metricdp.kernels.elimination import AT_ONCE, Elimination
from metricdp.kernels.impedances import impedance_costs
from metricdp.kernels.shortest_paths import balls
from metricdp.metrics.graph import arcs_of
from metricdp.metrics.structures import Network
from metricdp.progress import progress
from metricdp.solvers.stopping import NEVER, Deadline
from metricdp.threads import in_threads

_BATCH = 64
"""Fewest candidates evaluated between swaps: more leave fewer threads waiting. Costs with 16 and 64
differ by .04 % at most on Coquimbo, Liechtenstein and Enron (k = 3 to 40).
"""
_VISIT = 30
"""Arcs that a sweep passes in the time of a visit, of 20 to 40 measured on roads of Coquimbo,
Liechtenstein and Rome: beyond, sweeps are faster than searches.
"""
_CHEAP = 32
_MOST_PASSES = 12
_SHARES = (2, 16)
"""Most passes over all vertices; candidates near a center come from these fractions of its cell."""
_RECOMPUTE_AFTER = 16
"""Sums are recomputed after as many changes of labels as in so many passes over the graph."""


class GraphSearch:
    """Centers on a graph; the two nearest ones of every vertex are kept exact through swaps.

    `impedance`: 1 for k-median, 2 for k-means, or the terms of another cost
    (`metricdp.kernels.impedances.impedance_cost`).

    `cost`: current cost, for a power in units of length (or squared length) times weight; `tried`,
    `visited`: candidates evaluated, and vertices visited for that; `budget`: visits after which
    `improve`, `explore` and `sweep` end, without limit by default.

    Evaluating a candidate visits about 2·n/k vertices, or, where that takes longer, an eighth of a
    sweep over a road network; a swap repairs about 4·n/k. Memory is O(n + m) whatever k. A search
    over few candidates is as fast on a large graph.
    """

    tolerance = 1e-6
    """Least relative gain of a swap."""

    def __init__(
        self,
        metric: Network,
        weights: Floats,
        centers: Ints,
        impedance: Any = 1,
        *,
        allowed: Ints | None = None,
        opened: int = 0,
        deadline: Deadline = NEVER,
    ) -> None:
        n = len(metric)
        k = len(centers)
        arcs = len(metric.csr[1])
        self._may_open = np.full(n, allowed is None)
        if allowed is not None:
            self._may_open[metric.rank[allowed]] = True
        self.metric = metric
        self.deadline = deadline
        self.tried, self.visited, self.budget = 0, 0, float("inf")
        self._visits_each = 2 * n / k
        self._demand = (np.ascontiguousarray(weights[metric.order]), metric.unit, impedance)
        self._fixed = np.arange(k) < opened
        self._heap = (np.empty(4 * arcs + k, np.int64), np.empty(4 * arcs + k, np.int64))
        self._spaces = [kernels.workspace(n, k, arcs) for _ in range(os.cpu_count() or 1)]
        self._graph = (*metric.csr, metric.back)
        self._state = kernels.state_of(
            self._graph, metric.rank[centers], min(k, _CHEAP), self._heap
        )
        self._state.dirty[:] = True
        self._recompute_losses()

    @property
    def centers(self) -> Ints:
        """Positions of the centers, shape (k,)."""
        return self.metric.order[self._state.centers]

    def _recompute_losses(self) -> None:
        """Recompute cost and losses, which removes accumulated rounding errors."""
        state = self._state
        self.cost = kernels.removal_losses(state.labels, self._demand, self._fixed, state.losses)
        kernels.cheapest_slots(state.losses, state.cheap)
        self._entered = 0

    def improve(self, candidates: Ints) -> int:
        """Evaluate candidates (internal numbers) and take improving swaps; returns their number.

        Batches are evaluated on all processors; then the improving candidates of a batch are
        evaluated again one by one, best first, against the current centers: the result does not
        depend on the number of threads.
        """
        swaps = 0
        queue = candidates[self._may_open[candidates]]
        size = max(_BATCH, len(self._state.centers) // 2)
        for start in range(0, len(queue), size):
            if self.deadline.over or self.visited >= self.budget:
                break
            batch = np.unique(queue[start : start + size])
            batch = batch[self._state.slot_at[batch] == kernels.NOBODY]
            changes = self._evaluate(batch)
            better = np.flatnonzero(changes < -self.tolerance * abs(self.cost))
            self.tried += len(batch) + len(better)
            if len(better):
                swaps += self._take_swaps(batch[better[np.argsort(changes[better], kind="stable")]])
        return swaps

    def _evaluate(self, candidates: Ints) -> Floats:
        """Change of cost by the best swap of every candidate."""
        slots = np.empty(len(candidates), np.int64)
        changes = np.empty(len(candidates))
        order = self._swept_order()
        each = max(-(-len(candidates) // len(self._spaces)), 1 if order is None else AT_ONCE)

        def work(part: int) -> None:
            mine = slice(part * each, (part + 1) * each)
            arrays = self._demand, self._state, candidates[mine], slots[mine], changes[mine]
            if order is None:
                entered[part] = kernels.swap_changes(self._graph, self._spaces[part], *arrays)
            else:
                entered[part] = kernels.swept_changes(order, *arrays)

        entered = [0] * len(self._spaces)
        in_threads(work, range(-(-len(candidates) // each)))
        self.visited += sum(entered)
        self._visits_each = sum(entered) / max(len(candidates), 1)
        return changes

    def _swept_order(self) -> Elimination | None:
        """The order of elimination where sweeps are faster than searches."""
        reached = _VISIT * self._visits_each
        order = self.metric.elimination if reached > len(self.metric) else None
        return None if order is None or reached < len(order.head) else order

    def _take_swaps(self, candidates: Ints) -> int:
        arrays = self._graph, self._demand, self._heap, self._state, self._spaces[0]
        self.cost, swaps, entered = kernels.take_swaps(
            *arrays, candidates, self.cost, self.tolerance
        )
        self._entered += entered
        if self._entered > _RECOMPUTE_AFTER * len(self.metric):
            self._recompute_losses()
        return swaps

    def explore(self, rng: np.random.Generator, visits: float, sweeps: bool) -> None:
        """Search within `visits`: over all vertices if `sweeps`, else likely ones and
        near centers.
        """
        self.budget = visits
        if sweeps:
            self.sweep(rng, passes=_MOST_PASSES)
            return
        n, k = len(self.metric), len(self._state.centers)
        tries = int(visits * k) // (2 * n)
        self.improve(self.probable(tries // 4, rng))
        for share in _SHARES:
            self.improve(self.near(max(n // (share * k), 8), max(tries // (4 * k), 1), rng))

    def sweep(self, rng: np.random.Generator, passes: int = 1) -> int:
        """Try all vertices, then those near changes, and so on. Returns the number of swaps."""
        swaps = 0
        every = np.arange(len(self.metric))
        self._state.dirty[:] = True
        for _ in range(passes):
            again = every[self._state.dirty[self._state.labels[0]]]
            self._state.dirty[:] = False
            if len(again) == 0 or self.deadline.over:
                break
            swaps += self.improve(rng.permutation(again))
        return swaps

    def near(self, most: int, sample: int, rng: np.random.Generator) -> Ints:
        """Up to `sample` random vertices of the `most` nearest to each center in hops."""
        centers = self._state.centers
        # the work space of another kernel
        stamp = self._state.changed.view(np.int32)[: len(self.metric)]
        uniforms = rng.random((len(centers), sample))
        return rng.permutation(balls(self.metric.csr, centers, most, uniforms, stamp))

    def probable(self, count: int, rng: np.random.Generator) -> Ints:
        """Draw `count` vertices by weight × cost (Lattanzi & Sohler, ICML 2019)."""
        weights, unit, impedance = self._demand
        distance = self._state.labels[2] * unit
        cost = np.empty(len(distance))
        impedance_costs(distance, impedance, cost)
        weight = np.cumsum(np.maximum(weights, 0.0) * cost)
        if weight[-1] <= 0:
            return np.empty(0, np.int64)
        return np.minimum(
            np.searchsorted(weight, rng.random(count) * weight[-1], side="right"), len(weight) - 1
        )

    def descend(self, tolerance: float = 1e-9, visits: float = float("inf")) -> bool:
        """Move centers to neighboring vertices until no such move lowers the cost by more than
        `tolerance` of it. Returns whether that was reached within about `visits` visits.

        Only neighbors of centers whose demand changed are tried again, then once more all of them.
        """
        saved, self.tolerance, self.budget = (
            (self.tolerance, self.budget),
            tolerance,
            self.visited + visits,
        )
        state = self._state
        everywhere = True
        optimal = False
        with progress(total=len(state.centers), label="moving centers", unit="center") as bar:
            while not optimal and not self.deadline.over and self.visited < self.budget:
                centers = state.centers if everywhere else state.centers[state.dirty]
                state.dirty[:] = False
                swaps = self.improve(self._neighbors(centers))
                bar.n = len(state.centers) - int(state.dirty.sum())
                bar.refresh()
                optimal = (
                    everywhere
                    and not swaps
                    and not self.deadline.over
                    and self.visited < self.budget
                )
                everywhere = not state.dirty.any()
        self.tolerance, self.budget = saved
        return optimal

    def _neighbors(self, centers: Ints) -> Ints:
        indptr, indices, _ = self.metric.csr
        return np.unique(indices[arcs_of(indptr, centers)]).astype(np.int64)
