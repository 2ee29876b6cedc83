"""Dual ascent, branch and bound on lists of near pairs (`metricdp.solvers.bounds`)."""

from __future__ import annotations

import os
from copy import copy
from heapq import heappop, heappush
from typing import Any

import numpy as np

from metricdp.arrays import Bools, Floats, Ints
from metricdp.kernels.dual_ascent import cheapest, reduced_costs, served
from metricdp.kernels.near_swaps import transposed
from metricdp.solvers.entries import Entries
from metricdp.solvers.near_lists import Costs
from metricdp.solvers.stopping import Deadline
from metricdp.threads import in_threads

_STEPS = 1500
_FEWEST_STEPS = 700
_WORK = 3_000_000_000
_PATIENCE = 30
_LEAST = 1e-5
_FINEST = 100
_SHRINK_EVERY = 50
_FIRST_STEPS = 25
"""However short the time: before them bounds may be useless."""
_SHARES = (1.0, 0.7, 0.5, 0.3, 0.1)
"""Of what a demand point pays at the second nearest center: tried as its first multiplier."""
_NODE_STEPS = 40
_NODE_PACE = 0.5
_NODE_PATIENCE = 5
_MOST_NODES = 4000
_NODE_WORK = 20_000_000_000
"""Branches looked into, and entries evaluated in all of them: some ten seconds."""
_MOST_BRANCHED = 5_000_000
"""Entries beyond which branches are not begun: they are gathered anew for each."""
_MOST_BYTES = 400_000_000
"""Of open branches."""
_ROWS_AT_ONCE = 64
_ONE_THREAD = 200_000
"""Entries up to which one thread is faster."""
_MANY, _EVERY, _ACTIVE = 2_000_000, 5, 0.1
"""Entries beyond which most steps look at a part of all rows, those that all promised most in every
fifth step: others are seldom opened.
"""
_PROBED, _HOPEFUL = 200, 1.2
"""Demand points whose lists tell how long all will be; by how much they may err."""
_LISTED_WHOLE = 1_000_000
_MOST_WHOLE = 2.0**52
"""Below that sums of whole numbers are exact."""
_EQUAL = 1e-9
"""Costs that are no integers count as equal up to this fraction."""
_REACHES = (1.5, 1.25, 1.05, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0)
MOST_LISTED = 30_000_000
"""Pairs listed as a whole; of more, those below some multiples of near costs."""
_SHORT, _ENOUGH = 0.8, 12_000_000
"""A multiple that most bounds get by with, and pairs up to which more than that are listed."""
_ROOM = 1.25
"""Multiples of its multipliers that are listed where some were kept low by what is listed."""


class Ascent:
    """Dual ascent on the rows that can still be part of a solution cheaper than `upper`.

    A demand point that no listed entry serves costs at least its `beyond`: no multiplier is larger,
    and the bound holds as if it could be served at that cost by nobody.

    `entries`: by those rows, and `rows` their numbers in the block; `must`: which of them are open
    in any such solution; `bound`: rigorous: every such solution costs at least this; `best`: the
    multipliers of the highest value found.
    """

    def __init__(
        self,
        entries: Entries,
        beyond: Floats,
        k: int,
        upper: float,
        fixed: Ints,
        whole: bool,
        deadline: Deadline,
    ) -> None:
        self.entries = entries
        self.beyond = beyond
        self.k = k
        self.upper = upper
        self.deadline = deadline
        self.count_in_integers(whole)
        self.rows = np.arange(entries.rows)
        self.must = np.isin(self.rows, fixed)
        self.bound, self.best = 0.0, np.zeros(len(beyond))
        self.costs: Costs | None = None

    @classmethod
    def below(
        cls, costs: Costs, centers: Ints, fixed: Ints, whole: bool | None, deadline: Deadline
    ) -> Ascent:
        """For whatever is cheaper than these centers, at the cost of the second nearest of each
        point: good multipliers to begin with.

        Of many pairs only what costs little more than that is listed, or less where that is too
        much. Weights are positive, and `whole` tells whether all costs times weights are integers;
        the costs are asked if it is left open.
        """
        near, second = costs.two_nearest(centers)
        weights = costs.weights
        large = costs.shape[0] * costs.shape[1] > _LISTED_WHOLE
        for times in _REACHES if large else (np.inf,):
            reach = np.full(len(near), np.inf)
            most = min(_ENOUGH, MOST_LISTED) if large and times > _SHORT else MOST_LISTED
            if large:
                reach = times * (second + second.mean() / 6)
                if times > 0 and entries_within(costs, reach) > _HOPEFUL * most:
                    continue
            lists = costs.lists(reach, most)
            if lists is not None:
                break
        assert lists is not None
        by_row = transposed(*lists, costs.shape[0])
        entries = Entries(by_row[0], by_row[1], by_row[2] * weights[by_row[1]])
        upper = float(weights @ near)
        if whole is None:
            whole = costs.whole and upper < _MOST_WHOLE
        ascent = cls(entries, reach * weights, len(centers), upper, fixed, whole, deadline)
        ascent.best = ascent.first(second * weights)
        ascent.costs = costs
        return ascent

    def core(self, count: int) -> Ints:
        """The rows, so many, that the best multipliers want most."""
        self.rise(_FEWEST_STEPS)
        return self.rows[np.argsort(self.reduced(self.best))[:count]]

    def first(self, most: Floats) -> Floats:
        """The best multipliers among some fractions of `most`."""
        tried = [np.minimum(share * most, self.beyond) for share in _SHARES]
        return tried[int(np.argmax([self._evaluate(multipliers)[0] for multipliers in tried]))]

    def count_in_integers(self, whole: bool) -> None:
        """Say that all costs are whole numbers, or that they are not."""
        self.whole = whole
        self.target = self.upper - 1 if whole else self.upper * (1 - _EQUAL)

    def rounded(self, bound: float) -> float:
        """What every solution costs, if those better than `upper` cost at least `bound`."""
        if bound > self.target:
            return self.upper if self.whole else self.target
        return float(np.ceil(bound)) if self.whole else bound

    def settled(self) -> float:
        """What every solution costs at least, by an ascent and branches."""
        steps = int(np.clip(_WORK // max(len(self.entries.cost), 1), _FEWEST_STEPS, _STEPS))
        self.rise(steps)
        branches = self.bound <= self.target and not self.deadline.over
        return self.rounded(self.branch()[1] if branches else self.bound)

    def rise(self, steps: int) -> None:
        """Climb, and again with longer lists where those at hand kept multipliers low."""
        self.climb(self.best, steps)
        if (self.best >= self.beyond).any() and self.bound <= self.target:
            self._list(_ROOM * self.best)
            self.climb(self.best, steps)

    def climb(
        self,
        multipliers: Floats,
        steps: int,
        pace: float = 1.0,
        patience: int = _PATIENCE,
        least: float = _LEAST,
    ) -> None:
        """Polyak steps along deflected subgradients, until rises are below `least`."""
        multipliers = np.minimum(multipliers, self.beyond)
        direction, count = np.zeros(len(multipliers)), np.empty(len(multipliers))
        vain, top, active = 0, -np.inf, None
        for step in range(steps):
            value, reduced, chosen = self._evaluate(multipliers, active)
            whole = active is None
            if whole and len(self.entries.cost) > _MANY:
                most = max(int(_ACTIVE * len(reduced)), min(4 * self.k, len(reduced)))
                active = np.argpartition(reduced, most - 1)[:most]
                active = np.union1d(active, np.flatnonzero(self.must))
            if step % _EVERY == _EVERY - 1:
                active = None
            vain = 0 if whole and value > top + least * self.upper else vain + 1
            if whole and value > top:
                top = value
                self.best = multipliers.copy()
                self.bound = max(self.bound, top)
            self.deadline.tell(self.upper, self.bound)
            late = step + 1 >= _FIRST_STEPS and self.deadline.over
            if self.bound > self.target or late or pace < _FINEST * least:
                return
            if vain >= patience:
                pace = pace / 2
                vain = 0
                multipliers = self.best.copy()
                direction[:], active = 0, None
                continue
            served(*self.entries, multipliers, chosen, count)
            direction = 1.0 - count + 0.7 * direction
            direction[(multipliers >= self.beyond) & (direction > 0)] = 0.0
            length = float(direction @ direction)
            if length == 0:
                return
            far = pace * (self.upper * (1 + _FINEST * least) - value) / length
            multipliers = np.clip(multipliers + far * direction, 0.0, self.beyond)
            if step % _SHRINK_EVERY == _SHRINK_EVERY - 1:
                self.shrink()
                active = None

    def _evaluate(
        self, multipliers: Floats, rows: Ints | None = None
    ) -> tuple[float, Floats, Ints]:
        """L, rounded down; the reduced cost of every row; the rows of the minimum. No bound where
        some `rows` alone are looked at.
        """
        m = self.entries.rows
        reduced = self.reduced(multipliers, rows)
        free = np.flatnonzero(~self.must)
        left = self.k - (m - len(free))
        cheapest = (
            free[np.argpartition(reduced[free], left - 1)[:left]]
            if 0 < left < len(free)
            else free[:left]
        )
        chosen = np.r_[np.flatnonzero(self.must), cheapest]
        total = float(multipliers.sum())
        gain = float(reduced[chosen].sum())
        return total + gain - self.margin(total, gain, self.k), reduced, chosen

    def reduced(self, multipliers: Floats, rows: Ints | None = None) -> Floats:
        """What opening each row, or each of some, changes, but for prices: never above 0."""
        rows = np.arange(self.entries.rows) if rows is None else rows
        reduced = np.zeros(self.entries.rows)
        threads = (os.cpu_count() or 1) if len(self.entries.cost) > _ONE_THREAD else 1
        size = max(-(-len(rows) // threads), _ROWS_AT_ONCE)
        in_threads(
            lambda at: reduced_costs(*self.entries, multipliers, rows[at : at + size], reduced),
            range(0, len(rows), size),
        )
        return reduced

    def by_number(self, multipliers: Floats) -> Floats:
        """Rigorous lower bounds of 0, 1, ... rows; infinite below the required number."""
        multipliers = np.minimum(multipliers, self.beyond)
        reduced = self.reduced(multipliers)
        total = float(multipliers.sum())
        forced = np.count_nonzero(self.must)
        gain = np.r_[0.0, np.cumsum(np.sort(reduced[~self.must]))] + reduced[self.must].sum()
        return np.r_[
            np.full(forced, np.inf), total + gain - self.margin(total, gain, len(self.rows))
        ]

    def margin(self, total: float, gain: Any, rows: int) -> Any:
        """Above the rounding error of ``total + gain``, of so many rows at most, and of the
        products in `costs`.
        """
        return (len(self.beyond) + rows + 4) * np.finfo(float).eps * ((rows + 2) * total - gain)

    def shrink(self) -> None:
        """Fix and drop rows and pairs; an infinite bound if nothing better is left, and their cost
        if one choice alone is.
        """
        value, reduced, chosen = self._evaluate(self.best)
        inside = np.zeros(len(reduced), bool)
        inside[chosen] = True
        picked = np.flatnonzero(inside & ~self.must)
        others = np.flatnonzero(~inside)
        if len(picked) and len(others):
            margin = self.margin(float(self.best.sum()), float(reduced[chosen].sum()), self.k)
            dear = np.zeros(len(reduced), bool)
            dear[others] = value + reduced[others] - reduced[picked].max() - margin > self.target
            self.must[
                picked[value - reduced[picked] + reduced[others].min() - margin > self.target]
            ] = True
            if dear.any():
                self.keep(~dear)
        if np.count_nonzero(self.must) > self.k or len(self.must) < self.k:
            self.bound = np.inf
        rows = self.decided()
        if rows is not None and self.bound < np.inf:
            least = self.beyond.copy()
            cheapest(*self.entries, rows, least)
            self.bound = max(self.bound, float(least.sum()) * (1 - _EQUAL * (not self.whole)))

    def narrow(self) -> None:
        """Drop the entries that no better solution has: serving a demand point at more than its
        multiplier raises the bound by the difference, opening a row that the minimum leaves closed
        by what that costs; what is not listed likewise, or it is listed now.
        """
        value, reduced, chosen = self._evaluate(self.best)
        free = chosen[~self.must[chosen]]
        dearest = reduced[free].max() if len(free) else -np.inf
        opening = np.maximum(reduced - dearest, 0.0) if len(free) else np.zeros(len(reduced))
        opening[chosen] = 0.0
        margin = self.margin(float(self.best.sum()), float(reduced[chosen].sum()), self.k)
        most = max(self.target - value + margin, 0.0)
        room = np.maximum(most - opening, 0.0)
        self._list(self.best + most)
        self.entries = self.entries.among(np.arange(len(self.rows)), self.best, room)
        self.beyond = np.where(self.beyond - self.best > most, np.inf, self.beyond)

    def _list(self, reach: Floats) -> None:
        """List what costs at most so much, if some of it is not listed and it is not too much."""
        if self.costs is None or (self.beyond > reach).all():
            return
        weights = self.costs.weights
        within = reach / weights * (1 + _EQUAL) + np.finfo(float).tiny
        lists = self.costs.lists(within, MOST_LISTED)
        if lists is None:
            return
        start, client, cost = transposed(*lists, self.costs.shape[0])
        self.entries = Entries(start, client, cost * weights[client]).among(self.rows)
        self.beyond = within * weights

    def keep(self, kept: Bools) -> None:
        """Close all other rows for good."""
        self.entries = self.entries.among(np.flatnonzero(kept))
        self.rows, self.must = self.rows[kept], self.must[kept]

    def branch(
        self, nodes: int = _MOST_NODES, work: float = _NODE_WORK
    ) -> tuple[Ints | None, float]:
        """Rows of the best solution within the target, and a bound if a limit was reached."""
        self.shrink()
        entries, numbers = self.entries, self.rows
        if len(entries.cost) > _MOST_BRANCHED:
            return None, self.bound
        count = 0
        self.rows = np.arange(entries.rows)
        nothing = entries.among(self.rows[:0])
        open_: list[tuple[float, int, Any]] = (
            [] if self.bound > self.target else [(self.bound, 0, self)]
        )
        while open_:
            bound, _, node = heappop(open_)
            decided = node.decided()
            if decided is not None:
                return numbers[node.rows[decided]], bound
            if count >= nodes or work < 0 or self.deadline.over or self._full(len(open_)):
                return None, bound
            node.entries = entries.among(node.rows)
            row = node.pivot()
            for opens in (True, False):
                child = copy(node)
                child.must = node.must.copy()
                if opens:
                    child.must[row] = True
                else:
                    child.keep(np.arange(len(node.rows)) != row)
                child.visit()
                work -= _NODE_STEPS * len(node.entries.cost)
                count += 1
                if child.bound <= self.target:
                    child.entries = nothing  # gathered again when its turn comes
                    heappush(open_, (child.bound, count, child))
        return None, np.inf

    def _full(self, nodes: int) -> bool:
        """Whether so many open branches take too much memory."""
        return nodes * (8 * len(self.beyond) + 9 * len(self.rows)) > _MOST_BYTES

    def visit(self) -> None:
        """Raise the bound of a branch and fix rows."""
        self.shrink()
        if self.bound < np.inf:
            self.climb(self.best, _NODE_STEPS, _NODE_PACE, _NODE_PATIENCE)
            self.shrink()

    def decided(self) -> Ints | None:
        """The only k rows that can be open, if there is no choice left."""
        if len(self.must) == self.k:
            return np.arange(self.k)
        return np.flatnonzero(self.must) if np.count_nonzero(self.must) == self.k else None

    def pivot(self) -> int:
        """The free row that the relaxation wants most."""
        _, reduced, chosen = self._evaluate(self.best)
        free = chosen[~self.must[chosen]]
        return int(free[np.argmin(reduced[free])])


def entries_within(costs: Costs, reach: Floats) -> float:
    """About how long lists of what is nearer would be, by those of a few points."""
    n = len(reach)
    some = np.linspace(0, n - 1, min(_PROBED, n)).astype(np.int64)
    few = np.zeros(n)
    few[some] = reach[some]
    found = costs.lists(few, MOST_LISTED)
    return np.inf if found is None else len(found.cost) * (n / len(some))
