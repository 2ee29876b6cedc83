"""Sites that can be full and clients who are served by one of them alone: a local search, a
Lagrangian bound of knapsacks, and a choice among all sets of clients that can be part of anything
better (set partitioning: Baldacci, Hadjiconstantinou, Maniezzo & Mingozzi, 2002).
"""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse import eye_array, kron

from metricdp.kernels.packing import all_packs, pack, packs
from metricdp.kernels.transport import transport
from metricdp.kernels.whole_service import explore
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.objectives.partitioning import Partitioning, Rows
from metricdp.solvers.objectives.programs import Rule, solved
from metricdp.solvers.stopping import Deadline

_NEAR, _HEAT = 10, 2e-3
"""Sites near a client that may open; how much dearer, relatively, a round may end."""
_QUIET, _SLICE = 2_000, 0.3
"""Rounds without gain that end a search without a time limit; seconds of a part of the search."""
_STEPS, _PATIENCE, _EVERY = 2_000, 4, 5
_SETS = (200_000, 1_000_000, 4_000_000)
"""Most sets of clients that are listed: at first, and when the search goes on."""
_LARGE = 20_000
"""Clients beyond whom none makes place for another."""
_BOUNDED = 4_000_000
"""Most costs, sites × clients, for which a bound is sought."""
_PACKED, _SECONDS = 20_000, 20.0
"""HiGHS is asked whether all can be served at all by so many pairs of site and client; how long."""


class WholeSearch:
    """k rows, and one of them for each client, of least cost within the rows' room.

    Arguments as those of `CapacitySearch`; `coins`: public.

    `rows` (k,): the best found, None before; `site` (n_clients,): index into them, -1 for those
    left unserved; `upper`, `lower`: its cost, and a bound of all.
    """

    def __init__(
        self,
        costs: Floats,
        loads: Floats,
        room: Floats,
        k: int,
        fixed: Rows,
        spare: Floats | None,
        deadline: Deadline,
        coins: int = 0,
    ) -> None:
        self.costs, self.loads = np.ascontiguousarray(costs), loads
        self.room = np.minimum(room, loads.sum()) * (1 + 1e-9)
        self.k, self.fixed, self.spare, self.deadline = k, fixed, spare, deadline
        self.rows: Rows | None = None
        self.site: Rows = np.full(len(loads), -1)
        self.upper, self.lower, self.enough = np.inf, 0.0, np.inf
        parts = costs if spare is None else np.vstack([costs, spare])
        self._integral = bool((parts == np.round(parts)).all())
        if spare is None:
            self._places, self._rooms, self._must = self.costs.T, self.room, fixed
        else:  # nobody's site: one that is always open and has room for all
            self._places = np.vstack([self.costs, spare]).T
            self._rooms = np.r_[self.room, np.inf]
            self._must = np.r_[len(room), fixed].astype(np.int64)
        self._places = np.ascontiguousarray(self._places)
        near = min(_NEAR, len(room))
        self._near = np.argpartition(self.costs, near - 1, axis=0)[:near].T.copy()
        self._coins = np.array([coins], np.uint64)
        self._state: tuple[Rows, Rows] | None = None
        self._paid: Floats | None = None
        unit = self._places.mean() / max(float(loads.mean()), 1e-300)
        self._price = np.array([0.1, 0.01, 1e4]) * max(unit, 1e-300)

    @property
    def proven(self) -> bool:
        """Whether nothing is better, or the bound is above what was asked for."""
        return self.lower >= self.upper or self.lower > self.enough

    def run(self, first: Rows, site: Rows | None = None) -> None:
        """Search from some rows, and given service by them; then bound, and part what is left;
        again while a time limit allows.
        """
        self._begin(first, site)
        rounds = self._explore(10, 0.0)
        if self.costs.size > _BOUNDED:
            self._until_quiet(rounds, _QUIET)
            return
        self._until_quiet(rounds, _QUIET // 4)
        if not np.isfinite(self.upper) and not self._packed():
            return
        self._climb()
        self._until_quiet(rounds, _QUIET)
        limited, tried = self.deadline.seconds is not None, np.inf
        while not (self.proven or self.deadline.over):
            if self.upper < tried:
                tried = self.upper
                self._climb()
                self._parted(_SETS if limited else _SETS[:-1])
            elif not limited:
                break
            if limited:
                rounds = self._explore(rounds, _SLICE)

    def serve(self, site: Rows | None) -> None:
        """All rows are open: who is served where, from given service; no longer than needed."""
        self._begin(np.arange(len(self.room)), site)
        rounds = self._explore(10, 0.0)
        self._until_quiet(rounds, _QUIET // 10)
        if not np.isfinite(self.upper):
            self._packed()
        if self.costs.size <= _BOUNDED and np.isfinite(self.upper):
            self._climb()
            self._parted(_SETS[:1])

    def _parted(self, sizes: tuple[int, ...]) -> None:
        for most in sizes:
            if self.proven or self.deadline.over or self._part(most):
                break

    def _begin(self, rows: Rows, site: Rows | None) -> None:
        free = np.setdiff1d(rows, self.fixed)
        rows = np.r_[self._must, free].astype(np.int64)
        costs, room = np.ascontiguousarray(self._places[:, rows].T), self._rooms[rows]
        at = None if site is None else site + (self.spare is not None)
        if at is None:
            unit = costs / np.where(self.loads > 0, self.loads, 1.0)
            flow, at = np.empty_like(unit), costs.argmin(axis=0)
            if transport(unit, self.loads, np.minimum(room, self.loads.sum()), flow):
                at = np.where(self.loads > 0, flow.argmax(axis=0), at)
        self._state = (rows, at.astype(np.int64))

    def _packed(self) -> bool:
        """HiGHS on whether the roomiest sites can serve everybody; whether there is an answer."""
        free = np.setdiff1d(np.arange(len(self.room)), self.fixed)
        roomy = free[np.argsort(-self.room[free], kind="stable")[: self.k - len(self.fixed)]]
        rows, n = np.r_[self.fixed, roomy].astype(np.int64), len(self.loads)
        if len(rows) * n > _PACKED or self.spare is not None:
            return False
        once = Rule(kron(np.ones((1, len(rows))), eye_array(n), format="csr"), 1.0, 1.0)
        filled = kron(eye_array(len(rows)), self.loads[None, :], format="csr")
        rules = [once, Rule(filled, -np.inf, self.room[rows])]
        cost, ones = self.costs[rows].ravel(), np.ones(len(rows) * n)
        answer = solved(
            cost, rules, ones.astype(np.int8), ones, self.deadline, most=_SECONDS, gap=0.1
        )
        if answer.x is None:
            return False
        site = answer.x.reshape(len(rows), n).argmax(axis=0)
        self._begin(rows, site)
        self._found(rows, site, float(self.costs[rows[site], np.arange(n)].sum()))
        return True

    def _until_quiet(self, rounds: int, quiet: int) -> None:
        calm, quiet = 0, min(quiet, 20 + 2_000_000 // len(self.loads))
        while calm < quiet and not (self.deadline.over or self.proven):
            before = self.upper
            self.deadline.tell(self.upper, self.lower)
            rounds = self._explore(rounds, 0.0)
            calm = calm + rounds if self.upper >= before else 0

    def _explore(self, rounds: int, seconds: float) -> int:
        """So many rounds; how many to try next, to take about so many seconds."""
        assert self._state is not None
        begin = time.thread_time()
        rows, site = self._state
        best_rows, best_site = rows.copy(), site.copy()
        cost = explore(
            self._places,
            self.loads,
            self._rooms,
            rows,
            site,
            len(self._must),
            self._near,
            self._coins,
            self._price,
            _HEAT * (self.upper if np.isfinite(self.upper) else 0.0),
            rounds,
            len(self.loads) <= _LARGE,
            best_rows,
            best_site,
            self.upper,
        )
        if cost < self.upper:
            self._found(best_rows, best_site, cost)
        spent = max(time.thread_time() - begin, 1e-6)
        return rounds if seconds == 0.0 else int(np.clip(rounds * seconds / spent, 1, 10_000))

    def _found(self, rows: Rows, site: Rows, cost: float) -> None:
        self.upper = cost
        blank = self.spare is not None
        self.rows, self.site = rows[blank:].copy(), site - blank

    def _aim(self) -> float:
        """What costs less than this is better."""
        return self.upper - (1.0 - 1e-4 if self._integral else 1e-9 * self.upper)

    def _bounded(self, value: float) -> None:
        value = float(np.ceil(value - 1e-5)) if self._integral else value
        self.lower = max(self.lower, value)
        if self.lower >= self._aim():
            self.lower = self.upper

    def _climb(self) -> None:
        """Subgradient steps on what clients pay."""
        costs, m = self.costs, len(self.costs)
        price = self._paid
        if price is None:
            price = np.partition(costs, min(2, m - 1), axis=0)[min(2, m - 1)] * 1.5
            price = price if self.spare is None else np.maximum(price, self.spare / 2)
        pace, vain, at, top = 1.5, 0, price, -np.inf
        goal = self.upper * 1.001 if np.isfinite(self.upper) else float(costs.max(axis=0).sum())
        every = np.arange(m)
        active = every
        worth = np.empty(m)
        free = np.setdiff1d(every, self.fixed)
        left = self.k - len(self.fixed)
        for step in range(_STEPS):
            whole = step % _EVERY == 0
            price = price if self.spare is None else np.minimum(price, self.spare)
            if whole:
                packs(costs, price, self.loads, self.room, every, worth)
                likely = free[np.argsort(-worth[free], kind="stable")[: 3 * left + 10]]
                active = np.r_[self.fixed, likely]
            else:
                worth[:] = 0.0
                packs(costs, price, self.loads, self.room, active, worth)
            chosen = np.r_[self.fixed, likely[np.argsort(-worth[likely], kind="stable")[:left]]]
            value = float(price.sum() - worth[chosen].sum())
            if whole:
                vain = 0 if value > top + 1e-6 * abs(self.upper) else vain + 1
                if value > top:
                    top, at = value, price.copy()
                self.deadline.tell(self.upper, max(top, self.lower))
                if top >= self._aim() or top > self.enough or pace < 1e-3 or self.deadline.over:
                    break
                if vain >= _PATIENCE:
                    pace, vain, price = 0.7 * pace, 0, at.copy()
                    continue
            served = np.zeros(len(self.loads))
            for i in chosen:
                pack(costs[i], price, self.loads, self.room[i], served, 1.0)
            slope = 1.0 - served
            length = float(slope @ slope)
            if length == 0.0:
                if whole:
                    break
                continue
            price = np.maximum(price + pace * (goal - value) / length * slope, 0.0)
        self._paid, self._bound = at, top - 1e-12 * float(at.sum())
        self._bounded(self._bound)

    def _part(self, most: int) -> bool:
        """Choose among all sets of clients that may be part of anything better, if they are few;
        whether they are.
        """
        m = len(self.costs)
        worth, price = np.empty(m), self._paid
        assert price is not None
        packs(self.costs, price, self.loads, self.room, np.arange(m), worth)
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
            self.room,
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
            self.upper, self.rows, self.site = cost, rows, slot[row_of]


def _sums(costs: Floats, starts: Rows, members: Rows, site: Rows) -> Floats:
    """Cost of each set of clients at its site."""
    if len(site) == 0:
        return np.empty(0)
    each = costs[np.repeat(site, np.diff(starts)), members]
    return np.add.reduceat(each, starts[:-1])
