"""Sites that can be full and clients who are served by one of them alone: a local search, a
Lagrangian bound of knapsacks, and a choice among all sets of clients that can be part of anything
better (set partitioning: Baldacci, Hadjiconstantinou, Maniezzo & Mingozzi, 2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.kernels.packing import all_packs, knapsacks
from metricdp.solvers.objectives.capacity_search import CapacitySearch, Rows, Rules
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.objectives.partitioning import Partitioning
from metricdp.solvers.stopping import Deadline

_SETS = (1_000_000, 4_000_000)
"""Most sets of clients that are listed: without a time limit, and with one."""
_PARTS = (60, 120)
"""Clients of neighboring sites that are settled together, in turn; without a time limit only the
first, .03 s each.
"""
_BOUNDED = 4_000_000
"""Most costs, sites × clients, for which a bound is sought."""


class WholeSearch(CapacitySearch):
    """k rows, and one of them for each client, of least cost within the rows' room.

    `site` (n_clients,): index into `rows`, -1 for those left unserved.
    """

    whole = True

    def __init__(self, *asked: Any, **more: Any) -> None:
        super().__init__(*asked, **more)
        parts = [self.costs.ravel(), self.rules.fee]
        parts += [] if self.spare is None else [self.spare]
        self._integral = all(bool((part == np.round(part)).all()) for part in parts)
        self._plain = self._sizes == 1 and self.rules.least == 0

    def _bounds(self) -> bool:
        return self.costs.size <= _BOUNDED

    def _found(self, rows: Rows, site: Rows, cost: float) -> None:
        if cost < self.upper:
            self.upper, self.rows, self.site = cost, rows.copy(), np.maximum(site, -1)

    def _aim(self) -> float:
        return self.upper - (1.0 - 1e-4 if self._integral else 1e-9 * self.upper)

    def _bounded(self, value: float) -> None:
        super()._bounded(float(np.ceil(value - 1e-5)) if self._integral else value)

    def _settle(self, limited: bool) -> None:
        """Sets of clients; with sizes or a least load HiGHS."""
        if not self._plain:
            super()._settle(limited)
        elif not self.proven:
            self._part(_SETS[limited])

    def _answered(self, rows: Rows, x: Floats) -> None:
        m, n = len(rows), len(self.loads)
        opened = np.sort(np.argsort(-x[:m], kind="stable")[: self.k])
        share = x[m : m + m * n].reshape(m, n)[opened]
        site = np.where(share.max(axis=0) > 0.5, share.argmax(axis=0), -1)
        chosen = rows[opened]
        self._found(chosen, site, self._worth(chosen, site))

    def _worth(self, rows: Rows, site: Rows) -> float:
        """What it costs that each client is served by one of the rows, or by none."""
        served = site >= 0
        cost = float(self.costs[rows[site[served]], np.flatnonzero(served)].sum())
        cost += float(self.rules.fee[rows].sum())
        return cost if self.spare is None else cost + float(self.spare[~served].sum())

    def _mend(self) -> None:
        """Settle some neighboring sites with all they serve, until none of these parts gains
        (POPMUSIC: Taillard & Voss, 2002).
        """
        for most in _PARTS[: 1 + self.limited] if self._plain and self.rows is not None else ():
            waits = np.full(self.k, 2 * most <= len(self.loads))
            while waits.any() and not (self.proven or self.deadline.over):
                part = self._around(int(waits.argmax()), most)
                gains = self._mended(part)
                waits[part if gains else waits.argmax()] = gains
                self.deadline.tell(self.upper, self.lower)
        if self.rows is not None:
            self._begin(self.rows, self.site)
            self._least = self.upper

    def _around(self, slot: int, most: int) -> Rows:
        """A slot and those that would serve its clients best, with so many clients at most."""
        assert self.rows is not None
        far = self.costs[self.rows][:, self.site == slot].sum(axis=1)
        far[slot] = -1.0
        order = np.argsort(far, kind="stable")
        served = np.bincount(self.site[self.site >= 0], minlength=self.k)
        return np.sort(order[: max(int(np.searchsorted(served[order].cumsum(), most)), 2)])

    def _mended(self, part: Rows) -> bool:
        """Search for better sites of these slots' clients; whether there are some."""
        assert self.rows is not None
        clients = np.flatnonzero(np.isin(self.site, part))
        near = np.union1d(self._near[clients], self.rows[part])
        places = np.setdiff1d(near, np.delete(self.rows, part))
        fee = self.rules.fee[places]
        search = _Part(
            self.costs[np.ix_(places, clients)],
            self.loads[clients],
            self.room[places],
            len(part),
            np.flatnonzero(np.isin(places, self.fixed)),
            None if self.spare is None else self.spare[clients],
            Deadline(self.deadline.left),
            rules=Rules(np.array([len(part)]), fee),
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
        self._found(rows, site, self._worth(rows, site))
        return self.upper < before - 1e-9 * abs(before)

    def _part(self, most: int) -> None:
        """Choose among all sets of clients that may be part of anything better, if they are few."""
        m = len(self.costs)
        worth, price = np.empty(m), self._paid
        assert price is not None
        knapsacks(self.costs, price, self.loads, self._limits, 0.0, True, np.arange(m), worth)
        fixed = np.isin(np.arange(m), self.fixed)
        left = self.k - len(self.fixed)
        last = -np.sort(-worth[~fixed])[left - 1] if left else np.inf
        gap = self._aim() - self._bound
        least = np.where(fixed, worth, np.maximum(worth, last)) - gap
        starts, site = np.empty(most + 1, np.int64), np.empty(most, np.int32)
        members, cost = np.empty(most * 20, np.int32), np.empty(most)
        count = all_packs(
            self.costs,
            price,
            self.loads,
            self._limits,
            np.minimum(least, 1e300),
            gap,
            starts,
            members,
            site,
            cost,
        )
        if count < 0:
            return
        starts, members = starts[: count + 1], members[: starts[count]]
        site, cost = site[:count], cost[:count]
        if self.spare is not None:
            alone = np.flatnonzero(self.spare - price <= gap)
            starts = np.r_[starts, starts[-1] + 1 + np.arange(len(alone))]
            members = np.r_[members, alone].astype(np.int32)
            site = np.r_[site, np.full(len(alone), -1)].astype(np.int32)
            cost = np.r_[cost, self.spare[alone]]
        sets = (starts, members)
        parts = Partitioning(sets, site, cost, len(self.loads), fixed, left, self._aim())
        answer = parts.solved(price, self.deadline)
        if answer.sets is not None:
            self._taken(answer.sets)
        self._bounded(answer.bound)

    def _taken(self, sets: list[tuple[Rows, int]]) -> None:
        """The choice of some sets, if that is better; rows that stay empty are any."""
        row_of = np.full(len(self.loads), -1)
        for members, row in sets:
            row_of[members] = row
        used = np.setdiff1d(row_of[row_of >= 0], self.fixed)
        free = np.setdiff1d(np.arange(len(self.room)), np.r_[self.fixed, used])
        rows = np.r_[self.fixed, used, free][: self.k].astype(np.int64)
        slot = np.full(len(self.room) + 1, -1)
        slot[rows] = np.arange(len(rows))
        cost = self._worth(rows, slot[row_of])
        if cost < self.upper:
            self.upper = self._least = cost
            self.rows, self.site = rows, slot[row_of]


class _Part(WholeSearch):
    """A part of a problem, searched as if there was no time limit."""

    _ends_early = True

    def _mend(self) -> None:
        """It has no parts of its own."""
