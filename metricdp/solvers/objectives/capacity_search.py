"""Sites that can be full: a local search on who is served where, a Lagrangian bound of knapsacks,
and HiGHS on what is left.
"""

from __future__ import annotations

import time
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, kron

from metricdp.arrays import Ints, opened_first
from metricdp.kernels.packing import knapsack, knapsacks
from metricdp.kernels.transport import transport
from metricdp.kernels.whole_service import Sites, explore
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.programs import Optimum, Rule, beside, solved
from metricdp.solvers.stopping import Deadline

_NEAR, _HEAT = 10, 2e-3
"""Sites near a client that may open; how much dearer, relatively, a round may end."""
_QUIET, _SLICE = 2_000, 0.3
"""Rounds without gain that end a search without a time limit; seconds of a part of the search."""
_LARGE = 20_000
"""Clients beyond whom none makes place for another."""
_STEPS, _PATIENCE, _EVERY = 2_000, 4, 5
"""Steps of the bound; of those that look at all sites, so many in vain before the pace falls."""
_OFTEN = 50
"""Steps of the bound after which the rows that it opens are tried."""
_PROGRAM_PAIRS, _SECONDS, _CLOSE = 20_000, 20.0, 1e-6
"""HiGHS is asked about so many pairs of site and client, for so long, where the gap is larger."""
_ROOMY = 1.5
"""Most promising sites given to HiGHS when too many are left; least multiple of k."""

Rows = Ints


class Rules(NamedTuple):
    """Rows are places × sizes, size by size: of each place one at most is open.

    `most` (n_sizes,): open rows of each size; `fee` (n_rows,): of opening; `least`: load that every
    open row serves; `enough`: a search may end when its bound is above it.
    """

    most: Rows
    fee: Floats
    least: float = 0.0
    enough: float = np.inf


class CapacitySearch:
    """k rows of least cost of serving everybody within their room, where rows may share a client.

    `costs` (n_rows, n_clients): of serving all of each client; `loads` (n_clients,); `room`
    (n_rows,); `fixed`: places that are open; `spare` (n_clients,): what leaving each client
    unserved costs, where that is allowed; `coins`: public.

    `rows` (k,): the best found, None before; `upper`, `lower`: its cost, and a bound of all.

    Sites are looked for as if none shared a client, and costs are what the cheapest shares are.
    """

    whole = False
    _ends_early = False

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
        rules: Rules | None = None,
    ) -> None:
        self.costs, self.loads, self.room = np.ascontiguousarray(costs), loads, room
        self.k, self.fixed, self.spare, self.deadline = k, fixed, spare, deadline
        m, n = self.costs.shape
        self.rules = rules or Rules(np.array([k]), np.zeros(m))
        self._sizes = len(self.rules.most)
        self._places = m // self._sizes
        self.size, self.place = np.divmod(np.arange(m), self._places)
        self._held = np.isin(self.place, fixed)
        self._limits = np.minimum(room, loads.sum()) * (1 + 1e-9)
        self.rows: Rows | None = None
        self.site: Rows = np.full(n, -1)
        self.upper, self.lower, self._least = np.inf, 0.0, np.inf
        self._coins = np.array([coins], np.uint64)
        self._state: tuple[Rows, Rows] | None = None
        self._paid: Floats | None = None
        self._seen: set[bytes] = set()
        self._settled = False

    def _begin(self, rows: Rows, site: Rows | None) -> None:
        """Where the local search starts: rows, and who is served by which of them."""
        blank = self.spare is not None
        if self._state is None:
            self._columns = self.costs.T
            least = np.full(len(self.room), self.rules.least)
            self._sites = Sites(
                self._limits, least, self.rules.fee, self.place, self.size, self.rules.most
            )
            if self.spare is not None:  # nobody's site: always open, with room for all
                self._columns = np.vstack([self.costs, self.spare]).T
                more = (np.inf, 0.0, 0.0, self._places, self._sizes, 1)
                self._sites = Sites(*(np.r_[a, b] for a, b in zip(self._sites, more)))
            self._columns = np.ascontiguousarray(self._columns)
            near = min(_NEAR, self._places)
            own = np.argpartition(self.costs[: self._places], near - 1, axis=0)[:near].T
            shifts = np.arange(self._sizes) * self._places
            self._near = (own[:, :, None] + shifts).reshape(len(own), -1).copy()
            unit = self._columns.mean() / max(float(self.loads.mean()), 1e-300)
            self._price = np.array([0.1, 0.01, 1e4]) * max(unit, 1e-300)
        nobody = np.full(int(blank), len(self.room))
        held = rows[self._held[rows]]
        rows = np.r_[nobody, held, rows[~self._held[rows]]].astype(np.int64)
        costs, room = np.ascontiguousarray(self._columns[:, rows].T), self._sites.room[rows]
        at = None if site is None else site + blank
        if at is None:
            unit = costs / np.where(self.loads > 0, self.loads, 1.0)
            flow, at = np.empty_like(unit), costs.argmin(axis=0)
            if transport(unit, self.loads, np.minimum(room, self.loads.sum()), flow):
                at = np.where(self.loads > 0, flow.argmax(axis=0), at)
        self._state = (rows, at.astype(np.int64))

    @property
    def limited(self) -> bool:
        """Whether a time limit is to be used up while a gap is open."""
        return self.deadline.seconds is not None and not self._ends_early

    @property
    def proven(self) -> bool:
        """Whether nothing is better, or the bound is above what was asked for."""
        return self._settled or self.lower >= self.upper or self.lower > self.rules.enough

    def run(self, first: Rows, site: Rows | None = None) -> None:
        """Search from some rows, and given service by them; then bound, and settle what is left;
        again while a time limit allows.
        """
        self._begin(self.with_room(first), site)
        rounds = self._explore(10, 0.0)
        if not self._bounds():
            self._until_quiet(rounds, _QUIET)
            return
        self._until_quiet(rounds, _QUIET // 4)
        if not np.isfinite(self.upper) and not self._rescued():
            return
        self._climb()
        self._until_quiet(rounds, _QUIET)
        self._mend()
        limited, tried = self.limited, np.inf
        while not (self.proven or self.deadline.over):
            if self.upper < tried:
                if tried < np.inf:
                    self._climb()
                tried = self.upper
                self._settle(limited)
            elif not limited:
                break
            if limited:
                rounds = self._explore(rounds, _SLICE)
        self._resize()
        self.lower = min(self.lower, self.upper)

    def _mend(self) -> None:
        """What a search may do between its rounds."""

    def _resize(self) -> None:
        """Other sizes of the sites found, where shares tell which are best."""
        better = self._sizes > 1 and not self.whole and not self.proven
        while better and self.rows is not None:
            before = self.upper
            for a, size in product(range(self.k), range(self._sizes)):
                others = np.flatnonzero(self.size[self.rows] == size)
                for b in [a, *others]:
                    tried = self.size[self.rows]
                    tried[b], tried[a] = tried[a], size
                    self.take(tried * self._places + self.place[self.rows])
            better = self.upper < before and not self.deadline.over

    def serve(self, site: Rows | None) -> None:
        """All places are open: who is served where, from given service; no longer than needed."""
        self._begin(self.with_room(np.arange(self._places)), site)
        rounds = self._explore(10, 0.0)
        self._until_quiet(rounds, _QUIET // 10)
        if not np.isfinite(self.upper):
            self._rescued()
        if self._bounds() and np.isfinite(self.upper):
            self._climb()
            self._settle(False)

    def _bounds(self) -> bool:
        """Whether a bound is sought."""
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
            self._columns,
            self.loads,
            self._sites,
            rows,
            site,
            len(rows) - self.k + len(self.fixed),
            self._near,
            self._coins,
            self._price,
            _HEAT * (self._least if np.isfinite(self._least) else 0.0),
            rounds,
            len(self.loads) <= _LARGE,
            best_rows,
            best_site,
            self._least,
        )
        blank = len(rows) - self.k
        if cost < self._least:
            self._least = cost
            self._found(best_rows[blank:], best_site - blank, cost)
        elif np.isinf(self._least):
            self._found(rows[blank:], site - blank, np.inf)
        spent = max(time.thread_time() - begin, 1e-6)
        return rounds if seconds == 0.0 else int(np.clip(rounds * seconds / spent, 1, 10_000))

    def _found(self, rows: Rows, site: Rows, cost: float) -> None:
        """Take note of what the local search found."""
        self.take(rows)

    def take(self, rows: Rows) -> None:
        """Take note of rows, if so many may have their sizes and the cheapest shares of them are
        cheaper than the best.
        """
        name, of_size = np.sort(rows).tobytes(), np.bincount(self.size[rows])
        if name in self._seen or (of_size > self.rules.most[: len(of_size)]).any():
            return
        self._seen.add(name)
        value = self.flow(rows)[0]
        if value < self.upper:
            self.upper, self.rows = value, rows.copy()

    def _rescued(self) -> bool:
        """HiGHS on whether the roomiest sites can serve everybody, or any; whether they can."""
        every = np.arange(len(self.costs))
        likely = self.with_room(np.r_[self.fixed, np.argsort(-self.room, kind="stable")])
        for rows in (likely, every):
            if not np.isfinite(self.upper) and len(rows) * len(self.loads) <= _PROGRAM_PAIRS:
                self._program(rows, proves=len(rows) == len(every))
        return bool(np.isfinite(self.upper))

    def left(self, upper: float) -> Rows:
        """Rows that may be part of anything cheaper."""
        found: Rows = np.flatnonzero(self._promise <= upper)
        return found if self.rows is None else np.union1d(found, self.rows)

    def with_room(self, rows: Rows) -> Rows:
        """The first k of some rows, the smallest exchanged for the roomiest until all demand has
        room; of several sizes the largest, where there is most demand nearby.
        """
        if self._sizes > 1:
            every = np.arange(self._places)
            places = opened_first(self.fixed, self.place[rows])
            places = opened_first(places, every)[: self.k]
            order = np.argsort(-self.room[:: self._places], kind="stable")
            own = np.repeat(order, np.minimum(self.rules.most, self.k)[order])[: self.k]
            near = np.bincount(self.costs[places].argmin(axis=0), self.loads, self.k)
            large = np.empty(self.k, np.int64)
            large[np.argsort(-near, kind="stable")] = own
            return large * self._places + places
        need = self.loads.sum() if self.spare is None else 0.0
        rows = rows[np.sort(np.unique(rows, return_index=True)[1])][: self.k].astype(np.int64)
        others = [i for i in np.argsort(-self.room, kind="stable") if i not in set(rows.tolist())]
        free = np.setdiff1d(rows, self.fixed)
        for out, into in zip(free[np.argsort(self.room[free], kind="stable")], others):
            if self.room[rows].sum() >= need:
                break
            rows[rows == out] = into
        return rows

    def flow(self, rows: Rows) -> tuple[float, Floats | None]:
        """Cost of serving everybody from these rows, and the loads; infinite without room."""
        per = np.where(self.loads > 0, self.loads, np.inf)
        unit, room, k, least = self.costs[rows] / per, self.room[rows], len(rows), self.rules.least
        if least > 0:  # what must be full has a room of its own, and all else costs more
            dear = (k + 1.0) * max(float(unit.max()), 1e-300)
            unit = np.vstack([unit, unit + dear])
            room = np.r_[np.minimum(room, least), np.maximum(room - least, 0.0)]
        if self.spare is not None:
            unit, room = np.vstack([unit, self.spare / per]), np.r_[room, self.loads.sum()]
        flow = np.empty_like(unit)
        if not transport(np.ascontiguousarray(unit), self.loads, room, flow):
            return np.inf, None
        if least > 0:
            if (flow[:k].sum(axis=1) < least * (1 - 1e-9)).any():
                return np.inf, None
            flow = flow[:k] + flow[k:]
            unit = unit[:k]
        free = self.loads <= 0  # clients of no load are served by the cheapest
        cost = float((unit * flow).sum() + self.rules.fee[rows].sum())
        if free.any():
            bare = self.costs[rows][:, free].min(axis=0)
            cost += float(
                (bare if self.spare is None else np.minimum(bare, self.spare[free])).sum()
            )
        return cost, flow

    def _aim(self) -> float:
        """What costs less than this is better."""
        return self.upper * (1 - _CLOSE / 10)

    def _bounded(self, value: float) -> None:
        self.lower = max(self.lower, value)
        if self.lower >= self._aim():
            self.lower = self.upper

    def _climb(self) -> None:
        """Subgradient steps on what clients pay; what each row promises: a bound of all choices
        that it is part of.
        """
        costs, loads, room, m = self.costs, self.loads, self._limits, len(self.costs)
        least = self.rules.least
        packs = self.whole and least == 0
        price = self._paid
        if price is None:
            price = np.partition(costs, min(2, m - 1), axis=0)[min(2, m - 1)] * 1.5
            price = price if self.spare is None else np.maximum(price, self.spare / 2)
        pace, vain, at, top = 1.5, 0, price, -np.inf
        goal = self.upper * 1.001 if np.isfinite(self.upper) else float(costs.max(axis=0).sum())
        every = np.arange(m)
        earns, active = np.empty(m), every
        few = 3 * self.k + 10 if self._sizes == 1 else m
        for step in range(_STEPS):
            all_ = step % _EVERY == 0
            price = price if self.spare is None else np.minimum(price, self.spare)
            earns[:] = -np.inf
            rows = every if all_ else active
            knapsacks(costs, price, loads, room, least, packs, rows, earns)
            earns[rows] -= self.rules.fee[rows]
            chosen = self._opened(earns)
            value = float(price.sum() - earns[chosen].sum())
            if all_:
                likely = every if few >= m else np.argpartition(-earns, few)[:few]
                active = np.union1d(likely, np.flatnonzero(self._held))
                vain = 0 if value > top + 1e-6 * abs(self.upper) else vain + 1
                if value > top:
                    top, at, paid = value, price.copy(), earns.copy()
                    free = chosen[~self._held[chosen]]
                if step % _OFTEN == 0:
                    self._try(chosen)
                self.deadline.tell(self.upper, max(top, self.lower))
                if top >= self._aim() or top > self.rules.enough or pace < 1e-3:
                    break
                if self.deadline.over:
                    break
                if vain >= _PATIENCE:
                    pace, vain, price = 0.7 * pace, 0, at.copy()
                    continue
            served = np.zeros(len(loads))
            for i in chosen:
                knapsack(costs[i], price, loads, room[i], least, packs, served, 1.0)
            slope = 1.0 - served
            length = float(slope @ slope)
            if length == 0.0:
                if all_:
                    break
                continue
            price = np.maximum(price + pace * (goal - value) / length * slope, 0.0)
        self._paid, self._bound = at, top - 1e-12 * float(np.abs(at).sum())
        self._bounded(self._bound)
        own = np.full(self._places, -np.inf)
        np.maximum.at(own, self.place, paid)
        last = paid[free].min() if len(free) else np.inf
        self._promise = self._bound + np.where(self._held, own[self.place], last) - paid

    def _try(self, rows: Rows) -> None:
        """The local search goes on from rows that the bound opens, if they are better."""
        before = self.upper
        if not self.whole and len(np.unique(self.place[rows])) == self.k:
            self.take(self.with_room(rows) if self._sizes == 1 else rows)
        if self.upper < before and self.rows is not None:
            self._begin(self.rows, None)
            self._explore(10, 0.0)

    def _opened(self, earns: Floats) -> Rows:
        """Rows that earn most together; where sizes are scarce a place may be open in several."""
        by_place = earns.reshape(self._sizes, -1)
        must = by_place[:, self.fixed].argmax(axis=0) * self._places + self.fixed
        left, most = self.k - len(self.fixed), self.rules.most
        order = np.argsort(-earns, kind="stable")
        order = order[~self._held[order]]
        if most.min() >= self.k:
            if self._sizes > 1:
                order = order[np.sort(np.unique(self.place[order], return_index=True)[1])]
            return np.r_[must, order[:left]].astype(np.int64)
        kept = [order[self.size[order] == s][: most[s]] for s in range(self._sizes)]
        likely = np.concatenate(kept)
        likely = likely[np.argsort(-earns[likely], kind="stable")[:left]]
        return np.r_[must, likely].astype(np.int64)

    def _settle(self, limited: bool) -> None:
        """HiGHS on the rows left, or on the most promising, which proves nothing."""
        rows, n = self.left(self.upper), max(len(self.loads), 1)
        if len(rows) * n <= _PROGRAM_PAIRS:
            self._program(rows)
        elif not self.whole and _ROOMY * self.k * n <= _PROGRAM_PAIRS:
            fit = _PROGRAM_PAIRS // n
            hopeful = rows[np.argsort(self._promise[rows], kind="stable")[:fit]]
            known = np.empty(0, np.int64) if self.rows is None else self.rows
            self._program(np.union1d(hopeful, known), proves=False)

    def _program(self, rows: Rows, proves: bool = True) -> None:
        """HiGHS on some rows, outside of which nothing better is if that `proves`."""
        answer = self.program(rows, whole=self.whole)
        if answer.x is not None:
            self._answered(rows, answer.x)
        if proves:
            self._bounded(min(answer.bound, self.upper))
            self._settled = answer.proven

    def _answered(self, rows: Rows, x: Floats) -> None:
        """A program's answer, if it is better."""
        order = np.argsort(-x[: len(rows)], kind="stable")[: self.k]
        self.take(rows[np.sort(order)])

    def program(self, rows: Rows, *, whole: bool = False) -> Optimum:
        """HiGHS's best choice among some rows, and a bound: whether each is open, then what share
        of each client it serves, the `whole` of it or nothing.
        """
        m, n = len(rows), len(self.loads)
        spare = n if self.spare is not None else 0
        every, pairs = eye_array(n), eye_array(m * n)
        served = [kron(np.ones((1, m)), every)] + ([every] if spare else [])
        rules = [Rule(beside(m, *served), 1.0, 1.0)]
        filled = kron(eye_array(m), self.loads[None, :])
        room = np.minimum(self.room[rows], self.loads.sum())
        # exactly: HiGHS errs by coefficients like 1 + 1e-9
        rules.append(Rule(beside(diags_array(-room), filled, spare), -np.inf, 0.0))
        if self.rules.least > 0:
            empty = diags_array(np.full(m, -self.rules.least))
            rules.append(Rule(beside(empty, filled, spare), 0.0, np.inf))
        linked = kron(eye_array(m), np.ones((n, 1)))
        rules.append(Rule(beside(linked, -pairs, spare), 0.0, np.inf))
        rules.append(Rule(beside(np.ones((1, m)), m * n + spare), float(self.k), float(self.k)))
        held = np.isin(np.arange(self._places), self.fixed).astype(np.float64)
        for group, low, high in (
            (self.place[rows], held, np.ones(self._places)),
            (self.size[rows], np.zeros(self._sizes), self.rules.most.astype(np.float64)),
        ):
            if self._sizes > 1 or (low > 0).any():
                own = csr_array((np.ones(m), (group, np.arange(m))), (len(low), m))
                rules.append(Rule(beside(own, m * n + spare), low, high))
        spares = [] if self.spare is None else [self.spare]
        cost = np.concatenate([self.rules.fee[rows], self.costs[rows].ravel(), *spares])
        n_whole = len(cost) if whole else m
        return solved(cost, rules, n_whole, self.deadline, most=_SECONDS, gap=_CLOSE)
