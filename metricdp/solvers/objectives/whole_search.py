"""Sites that can be full and clients who are served by one of them alone: a local search, a
Lagrangian bound of knapsacks, and a choice among all sets of clients that can be part of anything
better (set partitioning: Baldacci, Hadjiconstantinou, Maniezzo & Mingozzi, 2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.packing import all_packs, knapsacks
from metricdp.solvers.objectives.capacity_search import CapacitySearch, Rows
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.objectives.partitioning import Partitioning

_SETS = (200_000, 1_000_000, 4_000_000)
"""Most sets of clients that are listed: at first, and when the search goes on."""
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
            return
        for most in _SETS if limited else _SETS[:-1]:
            if self.proven or self.deadline.over or self._part(most):
                break

    def _answered(self, rows: Rows, x: Floats) -> None:
        m, n = len(rows), len(self.loads)
        opened = np.sort(np.argsort(-x[:m], kind="stable")[: self.k])
        share = x[m : m + m * n].reshape(m, n)[opened]
        site = np.where(share.max(axis=0) > 0.5, share.argmax(axis=0), -1)
        chosen = rows[opened]
        served = site >= 0
        cost = float(self.costs[chosen[site], np.arange(n)][served].sum())
        cost += float(self.rules.fee[chosen].sum())
        if self.spare is not None:
            cost += float(self.spare[~served].sum())
        self._found(chosen, site, cost)

    def _part(self, most: int) -> bool:
        """Choose among all sets of clients that may be part of anything better, if they are few;
        whether they are.
        """
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
        members = np.empty(most * 20, np.int32)
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
        )
        if count < 0:
            return False
        starts, members, site = starts[: count + 1], members[: starts[count]], site[:count]
        cost = _sums(self.costs, starts, members, site)
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
        return True

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
        served = row_of >= 0
        cost = float(self.costs[row_of[served], np.flatnonzero(served)].sum())
        if self.spare is not None:
            cost += float(self.spare[~served].sum())
        if cost < self.upper:
            self.upper = self._least = cost
            self.rows, self.site = rows, slot[row_of]


def _sums(costs: Floats, starts: Rows, members: NDArray[Any], site: NDArray[Any]) -> Floats:
    """Cost of each set of clients at its site."""
    if len(site) == 0:
        return np.empty(0)
    each = costs[np.repeat(site, np.diff(starts)), members]
    return np.add.reduceat(each, starts[:-1])
