"""Lagrangian dual ascent and branch and bound on near pairs (`metricdp.solvers.bounds`)."""

from __future__ import annotations

import os
from copy import copy
from heapq import heappop, heappush
from typing import Any

import numpy as np

from metricdp.arguments import Bools, Floats, Ints
from metricdp.kernels.dual_ascent import Entries, cheapest, reduced_costs, served
from metricdp.kernels.near_swaps import transposed
from metricdp.solvers.near_lists import Costs
from metricdp.solvers.stopping import Deadline
from metricdp.threads import in_threads

_STEPS = 1500
_FEWEST_STEPS = 700
_WORK = 3_000_000_000
_PATIENCE = 30
_MIN_GAIN = 1e-5
_FINEST_STEP = 100
_SHRINK_EVERY = 50
_FIRST_STEPS = 25
"""Steps however short the time: bounds before them may be useless."""
_SHARES = (1.0, 0.7, 0.5, 0.3, 0.1)
"""First multipliers that are tried, as fractions of the cost at the second nearest center."""
_NODE_STEPS = 40
_NODE_STEP_LENGTH = 0.5
_NODE_PATIENCE = 5
_MOST_NODES = 4000
_NODE_WORK = 20_000_000_000
"""Most branches, and entries evaluated in all of them: some ten seconds."""
_MOST_BRANCHED = 5_000_000
"""Most entries with which branches are begun: each gathers them anew."""
_MOST_BYTES = 400_000_000
"""Memory of open branches."""
_ROWS_AT_ONCE = 64
_ONE_THREAD = 200_000
"""Entries up to which one thread is faster."""
_MANY_ENTRIES, _FULL_EVERY, _ACTIVE_SHARE = 2_000_000, 5, 0.1
"""With more entries than this all rows are evaluated in every fifth step only; between these the
part of them of least reduced cost: others seldom open.
"""
_PROBED, _ESTIMATE_ERROR = 200, 1.2
"""Demand points whose lists predict the length of all; by what factor the prediction may err."""
_LISTED_WHOLE = 1_000_000
_MOST_EXACT = 2.0**52
"""Sums of integers below this are exact."""
_EQUAL = 1e-9
"""Costs that are no integers count as equal up to this fraction."""
_REACHES = (1.5, 1.25, 1.05, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0)
MOST_LISTED = 30_000_000
"""Most pairs listed. If there are more, those below a multiple of near costs are."""
_USUAL_REACH, _ENOUGH = 0.8, 12_000_000
"""A multiple that suffices for most bounds, and most pairs listed beyond it."""
_LONGER_REACH = 1.25
"""Multiples of its multipliers up to which a point is listed anew where the lists kept some low."""


class Ascent:
    """Dual ascent on the rows that a solution cheaper than `upper` may still use.

    No multiplier exceeds `beyond` (n_demand,), the cost up to which a point's entries are listed:
    the bound holds as if each point could be left unserved at that cost.

    `entries`: of those rows; `rows`: their numbers in the block; `required`: whether each is open
    in all such solutions; `bound`: rigorous lower bound of their cost; `best`: multipliers of the
    highest value.
    """

    def __init__(
        self,
        entries: Entries,
        beyond: Floats,
        k: int,
        upper: float,
        fixed: Ints,
        integral: bool,
        deadline: Deadline,
    ) -> None:
        self.entries = entries
        self.beyond = beyond
        self.k = k
        self.upper = upper
        self.deadline = deadline
        self.count_in_integers(integral)
        self.rows = np.arange(entries.rows)
        self.required = np.isin(self.rows, fixed)
        self.bound, self.best = 0.0, np.zeros(len(beyond))
        self.costs: Costs | None = None

    @classmethod
    def below(
        cls, costs: Costs, centers: Ints, fixed: Ints, integral: bool | None, deadline: Deadline
    ) -> Ascent:
        """For solutions cheaper than these centers, from multipliers by second nearest costs.

        Of many pairs only those that cost little more than that are listed, or less if they are
        still too many. Weights are positive. `integral`: whether all costs times weights are
        integers; None: found out from `costs`.
        """
        near, second = costs.two_nearest(centers)
        weights = costs.weights
        large = costs.shape[0] * costs.shape[1] > _LISTED_WHOLE
        for multiple in _REACHES if large else (np.inf,):
            reach = np.full(len(near), np.inf)
            most = min(_ENOUGH, MOST_LISTED) if large and multiple > _USUAL_REACH else MOST_LISTED
            if large:
                reach = multiple * (second + second.mean() / 6)
                if multiple > 0 and entries_within(costs, reach) > _ESTIMATE_ERROR * most:
                    continue
            lists = costs.lists(reach, most)
            if lists is not None:
                break
        assert lists is not None
        by_row = transposed(*lists, costs.shape[0])
        entries = Entries(by_row[0], by_row[1], by_row[2] * weights[by_row[1]])
        upper = float(weights @ near)
        if integral is None:
            integral = costs.integral and upper < _MOST_EXACT
        ascent = cls(entries, reach * weights, len(centers), upper, fixed, integral, deadline)
        ascent.best = ascent.initial_multipliers(second * weights)
        ascent.costs = costs
        return ascent

    def core(self, count: int) -> Ints:
        """The `count` rows of least reduced cost at the best multipliers."""
        self.raise_bound(_FEWEST_STEPS)
        return self.rows[np.argsort(self.reduced(self.best))[:count]]

    def initial_multipliers(self, most: Floats) -> Floats:
        """The best of some fractions of `most` (n_demand,)."""
        tried = [np.minimum(share * most, self.beyond) for share in _SHARES]
        return tried[int(np.argmax([self._evaluate(multipliers)[0] for multipliers in tried]))]

    def count_in_integers(self, integral: bool) -> None:
        """Set whether all costs are integers, and with it the target."""
        self.integral = integral
        self.target = self.upper - 1 if integral else self.upper * (1 - _EQUAL)

    def rounded(self, bound: float) -> float:
        """Lower bound of all solutions, if those better than `upper` cost at least `bound`."""
        if bound > self.target:
            return self.upper if self.integral else self.target
        return float(np.ceil(bound)) if self.integral else bound

    def proven_bound(self) -> float:
        """Lower bound of all solutions, by dual ascent and branches."""
        steps = int(np.clip(_WORK // max(len(self.entries.cost), 1), _FEWEST_STEPS, _STEPS))
        self.raise_bound(steps)
        branches = self.bound <= self.target and not self.deadline.over
        return self.rounded(self.branch()[1] if branches else self.bound)

    def raise_bound(self, steps: int) -> None:
        """Climb; climb again with longer lists if the lists kept multipliers low."""
        self.climb(self.best, steps)
        if (self.best >= self.beyond).any() and self.bound <= self.target:
            self._list_more(_LONGER_REACH * self.best)
            self.climb(self.best, steps)

    def climb(
        self,
        multipliers: Floats,
        steps: int,
        step_length: float = 1.0,
        patience: int = _PATIENCE,
        min_gain: float = _MIN_GAIN,
    ) -> None:
        """Polyak steps along deflected subgradients, until they gain less than `min_gain`."""
        multipliers = np.minimum(multipliers, self.beyond)
        direction, count = np.zeros(len(multipliers)), np.empty(len(multipliers))
        stalled, best_value, active = 0, -np.inf, None
        for step in range(steps):
            value, reduced, chosen = self._evaluate(multipliers, active)
            full = active is None
            if full and len(self.entries.cost) > _MANY_ENTRIES:
                most = max(int(_ACTIVE_SHARE * len(reduced)), min(4 * self.k, len(reduced)))
                active = np.argpartition(reduced, most - 1)[:most]
                active = np.union1d(active, np.flatnonzero(self.required))
            # Only evaluations of all rows are bounds; those of active rows give a direction.
            if step % _FULL_EVERY == _FULL_EVERY - 1:
                active = None
            stalled = 0 if full and value > best_value + min_gain * self.upper else stalled + 1
            if full and value > best_value:
                best_value = value
                self.best = multipliers.copy()
                self.bound = max(self.bound, best_value)
            self.deadline.tell(self.upper, self.bound)
            late = step + 1 >= _FIRST_STEPS and self.deadline.over
            if self.bound > self.target or late or step_length < _FINEST_STEP * min_gain:
                return
            if stalled >= patience:
                step_length = step_length / 2
                stalled = 0
                multipliers = self.best.copy()
                direction[:], active = 0, None
                continue
            # Multipliers of points served more than once fall, of those not served rise.
            served(self.entries, multipliers, chosen, count)
            direction = 1.0 - count + 0.7 * direction
            direction[(multipliers >= self.beyond) & (direction > 0)] = 0.0
            length = float(direction @ direction)
            if length == 0:
                return
            step_size = step_length * (self.upper * (1 + _FINEST_STEP * min_gain) - value) / length
            multipliers = np.clip(multipliers + step_size * direction, 0.0, self.beyond)
            if step % _SHRINK_EVERY == _SHRINK_EVERY - 1:
                self.shrink()
                active = None

    def _evaluate(
        self, multipliers: Floats, rows: Ints | None = None
    ) -> tuple[float, Floats, Ints]:
        """The Lagrangian L rounded down, reduced costs of all rows, and the rows that open. No
        bound if only some `rows` are evaluated.
        """
        m = self.entries.rows
        reduced = self.reduced(multipliers, rows)
        free = np.flatnonzero(~self.required)
        left = self.k - (m - len(free))
        cheapest = (
            free[np.argpartition(reduced[free], left - 1)[:left]]
            if 0 < left < len(free)
            else free[:left]
        )
        chosen = np.r_[np.flatnonzero(self.required), cheapest]
        total = float(multipliers.sum())
        gain = float(reduced[chosen].sum())
        return total + gain - self.margin(total, gain, self.k), reduced, chosen

    def reduced(self, multipliers: Floats, rows: Ints | None = None) -> Floats:
        """Reduced costs of all or some rows (others 0), without opening costs: never positive."""
        rows = np.arange(self.entries.rows) if rows is None else rows
        reduced = np.zeros(self.entries.rows)
        threads = (os.cpu_count() or 1) if len(self.entries.cost) > _ONE_THREAD else 1
        size = max(-(-len(rows) // threads), _ROWS_AT_ONCE)
        in_threads(
            lambda at: reduced_costs(self.entries, multipliers, rows[at : at + size], reduced),
            range(0, len(rows), size),
        )
        return reduced

    def by_number(self, multipliers: Floats) -> Floats:
        """Rigorous lower bounds for 0, 1, ... rows; infinite below the number of required rows."""
        multipliers = np.minimum(multipliers, self.beyond)
        reduced = self.reduced(multipliers)
        total = float(multipliers.sum())
        forced = np.count_nonzero(self.required)
        gain = (
            np.r_[0.0, np.cumsum(np.sort(reduced[~self.required]))] + reduced[self.required].sum()
        )
        return np.r_[
            np.full(forced, np.inf), total + gain - self.margin(total, gain, len(self.rows))
        ]

    def margin(self, total: float, gain: Any, rows: int) -> Any:
        """Bound on the rounding error of ``total + gain`` over `rows` rows, and of products in
        `costs`.
        """
        return (len(self.beyond) + rows + 4) * np.finfo(float).eps * ((rows + 2) * total - gain)

    def shrink(self) -> None:
        """Fix rows by reduced costs: close those that no better solution opens, require those that
        all open. The bound becomes infinite if nothing better is left, its cost if one choice is.
        """
        value, reduced, chosen = self._evaluate(self.best)
        inside = np.zeros(len(reduced), bool)
        inside[chosen] = True
        picked = np.flatnonzero(inside & ~self.required)
        others = np.flatnonzero(~inside)
        if len(picked) and len(others):
            margin = self.margin(float(self.best.sum()), float(reduced[chosen].sum()), self.k)
            excluded = np.zeros(len(reduced), bool)
            excluded[others] = (
                value + reduced[others] - reduced[picked].max() - margin > self.target
            )
            self.required[
                picked[value - reduced[picked] + reduced[others].min() - margin > self.target]
            ] = True
            if excluded.any():
                self.keep(~excluded)
        if np.count_nonzero(self.required) > self.k or len(self.required) < self.k:
            self.bound = np.inf
        rows = self.decided()
        if rows is not None and self.bound < np.inf:
            least = self.beyond.copy()
            cheapest(self.entries, rows, least)
            self.bound = max(self.bound, float(least.sum()) * (1 - _EQUAL * (not self.integral)))

    def narrow(self) -> None:
        """Drop entries that no better solution uses: serving a point at more than its multiplier,
        or opening a row that the relaxation leaves closed, raises the bound by the difference.
        Lists are extended where needed.
        """
        value, reduced, chosen = self._evaluate(self.best)
        free = chosen[~self.required[chosen]]
        dearest = reduced[free].max() if len(free) else -np.inf
        opening = np.maximum(reduced - dearest, 0.0) if len(free) else np.zeros(len(reduced))
        opening[chosen] = 0.0
        margin = self.margin(float(self.best.sum()), float(reduced[chosen].sum()), self.k)
        most = max(self.target - value + margin, 0.0)
        slack = np.maximum(most - opening, 0.0)
        self._list_more(self.best + most)
        self.entries = self.entries.among(np.arange(len(self.rows)), self.best, slack)
        self.beyond = np.where(self.beyond - self.best > most, np.inf, self.beyond)

    def _list_more(self, reach: Floats) -> None:
        """List pairs up to the cost `reach`, if some are missing and they are not too many."""
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
        self.rows, self.required = self.rows[kept], self.required[kept]

    def branch(
        self, nodes: int = _MOST_NODES, work: float = _NODE_WORK
    ) -> tuple[Ints | None, float]:
        """Best-first branch and bound: the rows of the best solution within the target (None if
        there is none or a limit was reached), and the bound.
        """
        self.shrink()
        entries, numbers = self.entries, self.rows
        if len(entries.cost) > _MOST_BRANCHED:
            return None, self.bound
        visited = 0
        self.rows = np.arange(entries.rows)
        nothing = entries.among(self.rows[:0])
        heap: list[tuple[float, int, Any]] = (
            [] if self.bound > self.target else [(self.bound, 0, self)]
        )
        while heap:
            bound, _, node = heappop(heap)
            decided = node.decided()
            if decided is not None:
                return numbers[node.rows[decided]], bound
            if visited >= nodes or work < 0 or self.deadline.over or self._memory_full(len(heap)):
                return None, bound
            node.entries = entries.among(node.rows)
            row = node.branching_row()
            for opens in (True, False):
                child = copy(node)
                child.required = node.required.copy()
                if opens:
                    child.required[row] = True
                else:
                    child.keep(np.arange(len(node.rows)) != row)
                child.visit()
                work -= _NODE_STEPS * len(node.entries.cost)
                visited += 1
                if child.bound <= self.target:
                    child.entries = nothing  # gathered again when it is expanded
                    heappush(heap, (child.bound, visited, child))
        return None, np.inf

    def _memory_full(self, nodes: int) -> bool:
        """Whether so many open branches take too much memory."""
        return nodes * (8 * len(self.beyond) + 9 * len(self.rows)) > _MOST_BYTES

    def visit(self) -> None:
        """Raise the bound of a branch and fix rows."""
        self.shrink()
        if self.bound < np.inf:
            self.climb(self.best, _NODE_STEPS, _NODE_STEP_LENGTH, _NODE_PATIENCE)
            self.shrink()

    def decided(self) -> Ints | None:
        """The rows that open, if there is only one choice left."""
        if len(self.required) == self.k:
            return np.arange(self.k)
        return np.flatnonzero(self.required) if np.count_nonzero(self.required) == self.k else None

    def branching_row(self) -> int:
        """The free row of least reduced cost."""
        _, reduced, chosen = self._evaluate(self.best)
        free = chosen[~self.required[chosen]]
        return int(free[np.argmin(reduced[free])])


def entries_within(costs: Costs, reach: Floats) -> float:
    """Estimated length of the lists of all pairs within `reach`, from those of a few points."""
    n = len(reach)
    probed = np.linspace(0, n - 1, min(_PROBED, n)).astype(np.int64)
    probed_reach = np.zeros(n)
    probed_reach[probed] = reach[probed]
    found = costs.lists(probed_reach, MOST_LISTED)
    return np.inf if found is None else len(found.cost) * (n / len(probed))
