"""Iterated local search on lists of near candidates (Martin, Otto & Felten, Complex Systems 1991).

Centers of one neighborhood are exchanged at random, a descent follows there
(`metricdp.kernels.near_swaps`), and the step is kept if it costs no more, or little more early on.
Several chains are then searched together, with their centers as the only candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Floats, Ints
from metricdp.kernels.near_swaps import (
    Near,
    descended,
    kicked,
    state_at,
    transposed,
    workspace,
)
from metricdp.solvers.block import TOLERANCE, Found
from metricdp.solvers.near_lists import Costs, NearLists
from metricdp.solvers.stopping import NEVER, Deadline
from metricdp.threads import in_threads

MOST_ENTRIES = 40_000_000
"""Longest lists of near candidates in all: 640 MB."""
_REACHES = (1.5, 1.25, 1.05)
"""Multiples of the second nearest cost below which candidates are near."""
_FAR = 4.0
"""What none near serves costs so many times the reach."""
_HEATS = (0.01, 0.1, 0.04, 0.1)
_FRESH = 2
"""Mean loss that a step of each chain may make at first; how many chains have own starts."""
_WORK = (1_000_000, 8_000, 700_000_000)
"""Entries of a chain's lists: base, for each center, and most."""
_QUICK_ENTRIES = 8_000_000
_QUICK_WORK = 40
"""Of a quick search: longest lists, and how often a chain looks at each entry of them."""
_SLICE = 20_000_000
"""Between looks at the clock."""
_SHORT = 0.2
"""Of the work of a chain: in the first round, the only one of a quick search; then twice as much
each time."""
_BUDGET = 700_000_000
_VAIN_ROUNDS = 3
"""Entries that all chains of a thorough search look at, 15 to 30 s; rounds without improvement
after which it ends before."""


def thorough_search(
    costs: Costs,
    k: int,
    rng: np.random.Generator,
    *,
    first: Ints,
    opened: Ints | None = None,
    deadline: Deadline = NEVER,
    endless: bool = False,
) -> tuple[Ints, float]:
    """Improve rows by chains of kicks from several starts, and by what lies between them.

    Without `endless` the search ends by itself and does not depend on the machine's speed. Where
    even short lists of near candidates are too long (few centers of very many points), the answer
    is the best of several searches.
    """
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened)
    search = _Search(costs, fixed, deadline)
    best = search.found(first)
    if k - len(fixed) < 1 or k == costs.shape[0]:
        return best[1], best[0]
    search.left = np.inf if endless else _BUDGET
    vain, longer = 0, _SHORT
    while (endless or vain < _VAIN_ROUNDS) and search.left > 0 and not deadline.over:
        found = search.round(best, rng, longer)
        better = found[0] < best[0] - TOLERANCE * abs(best[0])
        vain = 0 if better else vain + 1
        longer *= 2
        best = min(best, found, key=lambda one: one[0])
    return best[1], best[0]


def near_search(
    costs: Costs,
    rng: np.random.Generator,
    *,
    first: Ints,
    opened: Ints,
    deadline: Deadline = NEVER,
) -> Found | None:
    """Improve rows by a descent and a short chain of kicks: seconds for 100,000 points."""
    search = _Search(costs, opened, deadline)
    before = search.found(first)
    near = search._near(before[1], _QUICK_ENTRIES)
    if near is None:
        return None
    work = _QUICK_WORK * len(near.site)
    rows = search._chains(near, [before[1]], rng, work, _HEATS[:1])[0]
    return min(search.found(rows), before, key=lambda one: one[0])


def short_search(
    costs: Costs,
    rng: np.random.Generator,
    *,
    first: Ints,
    opened: Ints,
    deadline: Deadline = NEVER,
) -> Found:
    """Improve rows by one round of short chains."""
    search = _Search(costs, opened, deadline)
    best = search.found(first)
    return min(best, search.round(best, rng, _SHORT), key=lambda one: one[0])


class _Search:
    """One problem, the rows that stay and the deadline; `left`: entries that chains may look at."""

    def __init__(self, costs: Costs, fixed: Ints, deadline: Deadline) -> None:
        self.costs = costs
        self.fixed = fixed
        self.deadline = deadline
        self.left = np.inf

    def found(self, rows: NDArray[Any]) -> Found:
        """Rows, the fixed ones first, and what they cost."""
        rows = np.r_[self.fixed, np.setdiff1d(rows, self.fixed)].astype(np.int64)
        return float(self.costs.weights @ self.costs.two_nearest(rows)[0]), rows

    def round(self, best: Found, rng: np.random.Generator, longer: float) -> Found:
        """The best of some chains, so many times as long, and of what is found between them."""
        k = len(best[1])
        near = self._near(best[1])
        starts = [best[1]] * (len(_HEATS) - _FRESH)
        for _ in range(_FRESH):
            if not self.deadline.over:
                fresh = self.costs.fresh(k, self.fixed, rng)
                starts.append(best[1] if fresh is None else fresh)
        if near is None:
            return min((self.found(rows) for rows in starts), key=lambda one: one[0])
        chains = self._chains(near, starts, rng, self._work(near, k, longer), _HEATS)
        ends = [self.found(rows) for rows in chains]
        union = np.unique(np.concatenate(chains))
        best = min(ends, key=lambda one: one[0])
        if len(union) == k or self.deadline.over:
            return best
        few = _restricted(near, union)
        relinked = self._chains(
            few,
            [np.searchsorted(union, best[1])] * 2,
            rng,
            self._work(few, k, min(longer, 1)),
            _HEATS,
        )
        ends = [self.found(union[rows]) for rows in relinked]
        return min(best, *ends, key=lambda one: one[0])

    def _near(self, rows: Ints, most: int = MOST_ENTRIES) -> Near | None:
        """Lists of what is near where these rows are the centers."""
        second = self.costs.two_nearest(rows)[1]
        weights = self.costs.weights
        for times in _REACHES:
            reach = times * second + second.mean() / 4
            reach[weights < 0] = np.inf
            lists = self.costs.lists(reach, most)
            if lists is not None:
                start, _, cost = lists
                whole = np.isinf(reach)
                reach[whole] = cost[start[1:][whole] - 1]
                return _near(lists, self.costs.shape[0], weights, _FAR * reach)
        return None

    def _work(self, near: Near, k: int, longer: float) -> int:
        """Entries that a chain looks at."""
        each = len(near.site) // (len(near.site_start) - 1) + 1
        work = min(_WORK[0] + _WORK[1] * each * (k - len(self.fixed)), _WORK[2])
        return int(min(longer * work, max(self.left, 0) / len(_HEATS)))

    def _chains(
        self,
        near: Near,
        starts: list[Ints],
        rng: np.random.Generator,
        work: int,
        heats: tuple[float, ...],
    ) -> list[Ints]:
        """The best rows of chains from each start, side by side."""
        coins = rng.integers(0, 2**63, len(starts)).astype(np.uint64)
        orders = [rng.permutation(len(near.site_start) - 1) for _ in starts]
        ends: list[Ints] = list(starts)

        def run(i: int) -> None:
            ends[i] = self._chain(near, starts[i], coins[i : i + 1], orders[i], work, heats[i])

        in_threads(run, range(len(starts)))
        self.left -= work * len(starts)
        return ends

    def _chain(
        self,
        near: Near,
        rows: Ints,
        coins: NDArray[np.uint64],
        order: Ints,
        work: int,
        heat: float,
    ) -> Ints:
        fixed = len(self.fixed)
        rows = np.r_[rows[:fixed], rows[fixed:]]
        state, cost = state_at(near, rows, fixed)
        space = workspace(len(order), len(rows))
        if self.deadline.over:
            return rows
        cost = descended(near, state, space, order, cost, TOLERANCE)
        warm = heat * abs(cost) / len(rows)
        best = state.centers.copy()
        least = cost
        effort = np.array([0, 0, work])
        while effort[0] < work and not self.deadline.over:
            effort[1] = min(effort[0] + _SLICE, work)
            cost, least = kicked(
                near, state, space, fixed, coins, effort, warm, cost, TOLERANCE, best, least
            )
        return best.astype(np.int64)


def _restricted(near: Near, rows: Ints) -> Near:
    """The problem with some of the candidates only, ascending."""
    number = np.full(len(near.site_start) - 1, -1, np.int32)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    kept = number[near.site] >= 0
    start = np.r_[0, np.cumsum(kept)][near.start]
    lists = NearLists(start, number[near.site[kept]], near.cost[kept])
    return _near(lists, len(rows), near.weights, near.far)


def _near(lists: NearLists, m: int, weights: Floats, far: Floats) -> Near:
    begin, client, cost = transposed(*lists, m)
    return Near(*lists, begin, client, cost, weights, far)
