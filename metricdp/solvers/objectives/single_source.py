"""Single-source capacitated k-median: local search, a Lagrangian bound of 0-1 knapsacks, and set
partitioning over all sets of clients that a better solution can use (Baldacci, Hadjiconstantinou,
Maniezzo & Mingozzi, 2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.kernels.packing import profitable_sets
from metricdp.solvers.objectives.capacity_search import CapacitySearch, Rows, SiteRules
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.objectives.partitioning import Partitioning
from metricdp.solvers.objectives.site_branches import Ascent, Branch, SiteGroups
from metricdp.solvers.stopping import Deadline

_MOST_SETS = (1_000_000, 4_000_000)
"""Most sets of clients that are listed: without a time limit, and with one."""
_PART_CLIENTS = (60, 120)
"""Clients of neighboring sites that are reoptimized together, in turn; without a time limit only
the first, .03 s each.
"""
_MOST_BOUNDED = 4_000_000
"""Most costs, sites × clients, for which a bound is computed."""


class SingleSourceSearch(CapacitySearch):
    """k rows, one of which serves each client whole, of least cost within their capacities.

    `site` (n_clients,): index into `rows`, -1 for those left unserved.
    """

    single_source = True

    def __init__(self, *asked: Any, **more: Any) -> None:
        super().__init__(*asked, **more)
        parts = [self.costs.ravel(), self.rules.opening_cost]
        parts += [] if self.unserved_cost is None else [self.unserved_cost]
        self._integral = all(bool((part == np.round(part)).all()) for part in parts)
        self._partitions = self._sizes == 1 and self.rules.min_load == 0

    def _wants_bound(self) -> bool:
        return self.costs.size <= _MOST_BOUNDED

    def _record(self, rows: Rows, site: Rows, cost: float) -> None:
        if cost < self.upper:
            self.upper, self.rows, self.site = cost, rows.copy(), np.maximum(site, -1)

    def _cutoff(self) -> float:
        return self.upper - (1.0 - 1e-4 if self._integral else 1e-9 * self.upper)

    def _raise_lower(self, value: float) -> None:
        super()._raise_lower(float(np.ceil(value - 1e-5)) if self._integral else value)

    def _solve_remaining(self, limited: bool) -> None:
        """Set partitioning where no size or least load is asked for, then as with shares."""
        self._most_sets, self._most_gap = _MOST_SETS[limited], np.inf
        if self._partitions and not self.proven and self._root is not None:
            self._raise_lower(self._partition(self._root, np.empty(0, np.int64)))
        if not self.proven:
            super()._solve_remaining(limited)

    def _resolved(self, branch: Branch, groups: SiteGroups, decided: bool) -> float:
        if decided:
            bound = self._program(np.sort(branch.ascent.chosen), proves=False)
            return max(branch.bound, bound)
        if not self._partitions or branch.number == 0:
            return branch.bound
        return self._partition(branch.ascent, groups.excluded(branch.counts))

    def _consider_program(self, rows: Rows, x: Floats) -> None:
        m, n = len(rows), len(self.loads)
        chosen_slots = np.sort(np.argsort(-x[:m], kind="stable")[: self.k])
        share = x[m : m + m * n].reshape(m, n)[chosen_slots]
        site = np.where(share.max(axis=0) > 0.5, share.argmax(axis=0), -1)
        chosen = rows[chosen_slots]
        self._record(chosen, site, self._cost_of(chosen, site))

    def _cost_of(self, rows: Rows, site: Rows) -> float:
        """Cost when `site` (n_clients,) says which of the rows serves each client, -1 for none."""
        served = site >= 0
        cost = float(self.costs[rows[site[served]], np.flatnonzero(served)].sum())
        cost += float(self.rules.opening_cost[rows].sum())
        return (
            cost if self.unserved_cost is None else cost + float(self.unserved_cost[~served].sum())
        )

    def _improve_parts(self) -> None:
        """Reoptimize neighboring sites with all their clients until no such part improves
        (POPMUSIC: Taillard & Voss, 2002).
        """
        known = self._partitions and self.rows is not None
        for most in _PART_CLIENTS[: 1 + self.limited] if known else ():
            pending = np.full(self.k, 2 * most <= len(self.loads))
            while pending.any() and not (self.proven or self.deadline.over):
                part = self._around(int(pending.argmax()), most)
                gains = self._improve(part)
                pending[part if gains else pending.argmax()] = gains
                self.deadline.tell(self.upper, self.lower)
        if self.rows is not None:
            self._start(self.rows, self.site)
            self._best_cost = self.upper

    def _around(self, slot: int, most: int) -> Rows:
        """A slot and those that serve its clients next best, of at most so many clients in all."""
        assert self.rows is not None
        far = self.costs[self.rows][:, self.site == slot].sum(axis=1)
        far[slot] = -1.0
        order = np.argsort(far, kind="stable")
        served = np.bincount(self.site[self.site >= 0], minlength=self.k)
        return np.sort(order[: max(int(np.searchsorted(served[order].cumsum(), most)), 2)])

    def _improve(self, part: Rows) -> bool:
        """Search for better sites of the clients of these slots. Returns whether there are some."""
        assert self.rows is not None
        clients = np.flatnonzero(np.isin(self.site, part))
        near = np.union1d(self._near[clients], self.rows[part])
        places = np.setdiff1d(near, np.delete(self.rows, part))
        opening_cost = self.rules.opening_cost[places]
        search = _PartSearch(
            self.costs[np.ix_(places, clients)],
            self.loads[clients],
            self.capacity[places],
            len(part),
            np.flatnonzero(np.isin(places, self.fixed)),
            None if self.unserved_cost is None else self.unserved_cost[clients],
            Deadline(self.deadline.left),
            rules=SiteRules(np.array([len(part)]), opening_cost),
        )
        search.run(
            np.searchsorted(places, self.rows[part]), np.searchsorted(part, self.site[clients])
        )
        if search.rows is None:
            return False
        rows, site = self.rows.copy(), self.site.copy()
        rows[part] = places[search.rows]
        site[clients] = np.where(search.site >= 0, part[search.site], -1)
        before = self.upper
        self._record(rows, site, self._cost_of(rows, site))
        return self.upper < before - 1e-9 * abs(before)

    def _partition(self, ascent: Ascent, excluded: Rows) -> float:
        """A bound by set partitioning over all sets that a better solution can use, if they are few
        enough; only where the gap is half of one at which that did not help.
        """
        gap, most, prices = self._cutoff() - ascent.bound, self._most_sets, ascent.prices
        if gap > self._most_gap / 2.0:
            return ascent.bound
        fixed = np.isin(np.arange(len(self.costs)), self.fixed)
        free = ascent.chosen[~fixed[ascent.chosen]]
        last = ascent.worth[free].min() if len(free) else np.inf
        min_worth = np.where(fixed, ascent.worth, np.maximum(ascent.worth, last)) - gap
        min_worth[excluded] = np.inf
        starts, site = np.empty(most + 1, np.int64), np.empty(most, np.int32)
        members, cost = np.empty(most * 20, np.int32), np.empty(most)
        count = profitable_sets(
            self.costs,
            prices,
            self.loads,
            self._limits,
            np.minimum(min_worth, 1e300),
            gap,
            starts,
            members,
            site,
            cost,
        )
        if count < 0:
            self._most_gap = gap
            return ascent.bound
        starts, members = starts[: count + 1], members[: starts[count]]
        site, cost = site[:count], cost[:count]
        # Clients may also stay unserved: sets of one client without a site.
        if self.unserved_cost is not None:
            alone = np.flatnonzero(self.unserved_cost - prices <= gap)
            starts = np.r_[starts, starts[-1] + 1 + np.arange(len(alone))]
            members = np.r_[members, alone].astype(np.int32)
            site = np.r_[site, np.full(len(alone), -1)].astype(np.int32)
            cost = np.r_[cost, self.unserved_cost[alone]]
        sets = (starts, members)
        parts = Partitioning(sets, site, cost, len(self.loads), fixed, len(free), self._cutoff())
        answer = parts.solved(prices, self.deadline)
        if answer.sets is not None:
            self._consider_sets(answer.sets)
        if answer.bound < self._cutoff():
            self._most_gap = gap
        return max(ascent.bound, answer.bound)

    def _consider_sets(self, sets: list[tuple[Rows, int]]) -> None:
        """Keep this choice of sets if it is better; rows that serve nobody are arbitrary."""
        row_of = np.full(len(self.loads), -1)
        for members, row in sets:
            row_of[members] = row
        used = np.setdiff1d(row_of[row_of >= 0], self.fixed)
        free = np.setdiff1d(np.arange(len(self.capacity)), np.r_[self.fixed, used])
        rows = np.r_[self.fixed, used, free][: self.k].astype(np.int64)
        slot = np.full(len(self.capacity) + 1, -1)
        slot[rows] = np.arange(len(rows))
        cost = self._cost_of(rows, slot[row_of])
        if cost < self.upper:
            self.upper = self._best_cost = cost
            self.rows, self.site = rows, slot[row_of]


class _PartSearch(SingleSourceSearch):
    """The search of a part: it ends early, as without a time limit."""

    _ends_early, _most_branches = True, 0

    def _improve_parts(self) -> None:
        """A part has no parts."""
