"""k-median on a block of costs: swap local search from many recombined starts."""

from __future__ import annotations

import os
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Floats, Ints
from metricdp.kernels.block_swaps import (
    Labels,
    block_changes,
    block_local_search,
    block_losses,
    block_relink,
    block_seeds,
    block_swaps,
    gather,
    label_columns,
)
from metricdp.solvers.stopping import NEVER, Deadline
from metricdp.threads import in_threads

TOLERANCE = 1e-9
MAX_SWAPS = 100_000
_LARGE = 6_000_000
"""Entries beyond which one search uses all threads; below, each thread has its own."""
_WORK = 104_000_000
_FEWEST = 3
_MOST = 128
"""Entries that all starts of a default search may have together, and bounds of their number."""
_ELITE = 16
_SAMPLE = 2000
_PER_CENTER = 20
"""Rows and columns of the sample of a large block: at least so many, and so many for each center.
"""
_BATCH = 512
_PROMISING = 10
"""Rows tried at once, and the most promising fraction, tried between passes."""
_MANY = 40
"""Fewer centers are searched for twice on a sample, and between the two results too."""
_IN_VAIN = 2  # generations without a gain: time against the last of the cost

Found = tuple[float, Ints]


def block_search(
    block: NDArray[Any],
    weights: Floats,
    k: int,
    rng: np.random.Generator,
    *,
    starts: int | None = 1,
    first_start: Ints | None = None,
    opened: Ints | None = None,
    deadline: Deadline = NEVER,
) -> tuple[Ints, float]:
    """Best of several local searches and, from four starts on, of what lies between their results.

    A local optimum of single swaps costs at most 5 times the optimum for non-negative weights (Arya
    et al., SICOMP 2004); within a percent in practice. O(n_candidates · n_demand) a pass, usually 3
    to 6 passes. Results are recombined by path-relinking in an elite pool, as in the hybrid
    heuristic of Resende & Werneck (J. Heuristics 2004): all 40 OR-Library instances are solved to
    optimality by default. The result does not depend on the number of threads.
    """
    kind = np.float32 if block.dtype == np.float32 else np.float64
    search = _BlockSearch(
        np.ascontiguousarray(block, kind), np.asarray(weights, np.float64), k, opened, rng, deadline
    )
    if starts is None:
        starts = int(np.clip(_WORK // max(block.size, 1), _FEWEST, _MOST))
    found = search.from_starts(starts, first_start)
    if starts >= 4:
        found = search.recombined(found, min(_ELITE, max(starts // 4, 3)))
    cost, rows = min(found, key=lambda one: one[0])
    return rows, cost


class _BlockSearch:
    """One problem, its coins and its deadline."""

    def __init__(
        self,
        block: NDArray[Any],
        weights: Floats,
        k: int,
        opened: Ints | None,
        rng: np.random.Generator,
        deadline: Deadline,
        large: float | None = None,
    ) -> None:
        self.large = _LARGE if large is None else large
        self.block = block
        self.weights = weights
        self.k = k
        self.rng = rng
        self.deadline = deadline
        self.opened = (
            np.empty(0, np.int64) if opened is None else np.unique(opened).astype(np.int64)
        )

    def from_starts(self, starts: int, first_start: Ints | None) -> list[Found]:
        """Local optima from k-median++, at least one."""
        given = 0 if first_start is None else 1
        uniforms = self.rng.random((starts - given, self.k))

        def seeded(i: int) -> Ints:
            centers = np.empty(self.k, np.int64)
            centers[: len(self.opened)] = self.opened
            if first_start is not None and i == 0:
                centers[len(self.opened) :] = np.setdiff1d(first_start, self.opened)
            else:
                coins = uniforms[i - given]
                block_seeds(self.block, self.weights, coins, len(self.opened), centers)
            return centers

        return self._local_optima(
            [lambda i=i: seeded(i) for i in range(starts)], self._coarse_to_fine
        )

    def _local_optima(self, begin: list[Any], descend: Any) -> list[Found]:
        """Descend from what each function returns, while there is time, at least once."""
        found: list[Found] = []
        if self.block.size > self.large:
            for start in begin:
                if not found or not self.deadline.over:
                    found.append(descend(start()))
            return found
        orders = [self.rng.permutation(len(self.block)) for _ in begin]
        kept: list[Found | None] = [None] * len(begin)

        def work(i: int) -> None:
            if i and self.deadline.over:
                return
            centers = begin[i]()
            cost = block_local_search(
                self.block, self.weights, len(self.opened), centers, orders[i], TOLERANCE, MAX_SWAPS
            )
            kept[i] = (float(cost), centers)

        in_threads(work, range(len(begin)))
        return [one for one in kept if one is not None]

    def recombined(self, found: list[Found], size: int) -> list[Found]:
        """Local optima between all pairs of an elite pool, until two generations fail."""
        pool = _elite(found, size)
        vain = 0
        while len(pool) > 1 and vain < _IN_VAIN and not self.deadline.over:
            pairs = [(a[1], b[1]) for a, b in combinations(pool, 2)]

            def between(start: Ints, target: Ints) -> Ints:
                stop = np.empty(self.k, np.int64)
                block_relink(self.block, self.weights, len(self.opened), start, target, stop)
                return stop

            children = self._local_optima(
                [lambda a=a, b=b: between(a, b) for a, b in pairs], self._fine
            )
            vain = (
                0
                if min(child[0] for child in children) < pool[0][0] - TOLERANCE * abs(pool[0][0])
                else vain + 1
            )
            pool = _elite([pool[0], *children], size)
        return pool

    def _coarse_to_fine(self, centers: Ints) -> Found:
        """Local search on a sample of rows and columns, then on all: most swaps are made where they
        cost little.
        """
        m, n = self.block.shape
        some = max(_SAMPLE, _PER_CENTER * self.k)
        if 4 * min(some, m) * min(some, n) > self.block.size:  # a sample would save too little
            return self._fine(centers)
        # A small block: sampled rows, the start among them, and demand sampled by weight.
        rows = np.union1d(centers, self.rng.choice(m, min(some, m), replace=False))
        columns, weights = self._sampled_demand(some)
        part = np.empty((len(rows), len(columns)), self.block.dtype)
        in_threads(
            lambda at: gather(self.block, rows[at : at + _BATCH], columns, part[at : at + _BATCH]),
            range(0, len(rows), _BATCH),
        )
        coarse = self._on_rows(rows, part, weights)
        found = coarse.from_starts(1 if self.k >= _MANY else 2, np.searchsorted(rows, centers))
        if len(found) == 1:
            return self._fine(rows[found[0][1]])
        # Both results at full resolution. Of each row the least change that either descent saw is
        # remembered: the last one tries the most promising rows first.
        promise = np.full(m, np.inf)
        pair = [self._fine(rows[one[1]], promise, proven=False) for one in found]
        # What lies between them: a search that may open the centers of either one alone.
        union = np.unique(np.concatenate([one[1] for one in pair]))
        both = self._on_rows(union, self.block[union], self.weights)
        best = min(
            both.recombined([(cost, np.searchsorted(union, c)) for cost, c in pair], 2),
            key=lambda one: one[0],
        )
        return self._fine(union[best[1]], promise)

    def _on_rows(self, rows: Ints, block: NDArray[Any], weights: Floats) -> _BlockSearch:
        """The search on some rows, whose block this is; each thread has its own."""
        opened = np.searchsorted(rows, self.opened)
        return _BlockSearch(block, weights, self.k, opened, self.rng, self.deadline, large=np.inf)

    def _sampled_demand(self, some: int) -> tuple[Ints, Floats]:
        """Columns and weights of an unbiased sample of the demand."""
        mass = np.abs(self.weights)
        if np.count_nonzero(mass) <= some:
            columns = np.flatnonzero(mass)
            return columns, self.weights[columns]
        drawn = self.rng.choice(len(mass), some, p=mass / mass.sum())
        columns, times = np.unique(drawn, return_counts=True)
        return columns, np.sign(self.weights[columns]) * times

    def _fine(self, centers: Ints, promise: Floats | None = None, proven: bool = True) -> Found:
        """Local optimum on the whole block: passes over all rows, and after each over the most
        promising ones until none improves.

        `promise`, the least change that other descents saw for each row, tells where to begin.
        Without `proven` there is no last pass over all rows, and `promise` is brought up to date.
        """
        m = len(self.block)
        state, cost = self._labeled(centers)
        change = np.full(m, -np.inf)
        known = np.zeros(m)
        fallen = 0.0
        rows = self.rng.permutation(m)
        if proven and promise is not None:
            rows = _least(promise, m // _PROMISING)
        while not self.deadline.over:
            swaps, cost, fallen = self._pass(rows, state, change, known, cost, fallen)
            if swaps == 0 and (len(rows) == m or not proven):
                break
            rows = _least(change, m // _PROMISING if swaps else m)
        if promise is not None:
            np.minimum(promise, change, out=promise)
        return float(cost), state[0]

    def _labeled(self, centers: Ints) -> tuple[Any, float]:
        """State of a search at these centers: they, their labels and losses; and the cost."""
        labels = label_columns(self.block, centers)
        state = (centers.copy(), labels, np.empty(self.k))
        return state, block_losses(self.weights, len(self.opened), labels, state[-1])

    def _pass(
        self, rows: Ints, state: Any, change: Floats, known: Floats, cost: float, fallen: float
    ) -> tuple[int, float, float]:
        """Try rows in batches on all threads, then those of a batch that improve one by one, best
        first.

        `change` is what the best swap of each row changed when it was last tried, and `known` what
        `fallen`, the sum of all that such changes can have fallen, was then. Rows are passed over
        while the two show that they still do not improve.
        """
        centers, labels, losses = state
        total = 0
        closed = np.ones(len(self.block), np.bool_)
        closed[centers] = False
        for at in range(0, len(rows), _BATCH):
            batch = rows[at : at + _BATCH]
            batch = batch[change[batch] < fallen - known[batch]]
            batch = batch[closed[batch]]
            change[batch] = self._changes(batch, labels, losses)
            known[batch] = fallen
            better = batch[change[batch] < -TOLERANCE * abs(cost)]
            if len(better) == 0:
                continue
            if self.deadline.over:
                break
            queue = better[np.argsort(change[better], kind="stable")]
            change[centers] = -np.inf
            swaps, cost, fall = block_swaps(
                self.block, self.weights, len(self.opened), *state, queue, 0, TOLERANCE, MAX_SWAPS
            )
            total = total + swaps
            fallen = fallen + fall
            closed[:] = True
            closed[centers] = False
        return total, cost, fallen

    def _changes(self, rows: Ints, labels: Labels, losses: Floats) -> Floats:
        change = np.empty(len(rows))
        size = -(-len(rows) // (os.cpu_count() or 1))

        def work(start: int) -> None:
            part = slice(start, start + size)
            block_changes(self.block, self.weights, labels, losses, rows[part], change[part])

        in_threads(work, range(0, len(rows), max(size, 1)))
        return change


def _least(values: Floats, count: int) -> Ints:
    """Places of the `count` least values, in order."""
    few = np.argpartition(values, count)[:count] if count < len(values) else np.arange(len(values))
    return few[np.argsort(values[few], kind="stable")]


def _elite(found: list[Found], size: int) -> list[Found]:
    """Up to `size` of the best; of two that differ by one center only the better."""
    pool: list[tuple[Found, set[int]]] = []
    for one in sorted(found, key=lambda one: one[0]):
        own = set(one[1].tolist())
        if all(len(own - other) > 1 for _, other in pool):
            pool.append((one, own))
        if len(pool) == size:
            break
    return [one for one, _ in pool]
