"""Sites that can be full: exchanges, a Lagrangian bound, and HiGHS on what is left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack, kron

from metricdp.kernels.transport import fill_knapsack, knapsacks, transport
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.objectives.programs import Rule, solved
from metricdp.solvers.stopping import Deadline

_STEPS, _PATIENCE, _EVERY = 400, 15, 10
_TRIED, _MOVES = 12, 60
"""Exchanges judged exactly before the search ends, and most of them taken."""
_HOPEFUL, _DESCENTS = 1.1, 25
"""Relative excess of sites from the bound that are searched from; how often."""
_PROGRAM_PAIRS, _SECONDS, _CLOSE = 20_000, 20.0, 1e-4
"""HiGHS is asked about so many pairs of site and client, for so long, where the gap is larger."""

_ROOMY = 1.5
"""Most promising sites given to HiGHS when too many are left; least multiple of k."""

Rows = NDArray[np.int64]


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
    """k rows of least cost of serving everybody within their room.

    `costs` (n_rows, n_clients): of serving all of each client; `loads` (n_clients,); `room`
    (n_rows,); `fixed`: places that are open; `spare` (n_clients,): what leaving each client
    unserved costs, where that is allowed.

    `best` (k,): shorter where no rows were found that serve everybody.
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
        rules: Rules | None = None,
    ) -> None:
        self.costs, self.loads, self.room = np.ascontiguousarray(costs), loads, room
        self.k, self.fixed, self.spare, self.deadline = k, fixed, spare, deadline
        m = len(self.costs)
        self.rules = rules or Rules(np.array([k]), np.zeros(m))
        self._sizes = len(self.rules.most)
        self._places = m // self._sizes
        self.size, self.place = np.divmod(np.arange(m), self._places)
        self._held = np.isin(self.place, fixed)
        self.best, self.upper, self.lower = fixed, np.inf, 0.0
        self._promise = np.zeros(m)
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = np.where(loads > 0, costs / np.where(loads > 0, loads, 1.0), 0.0)
        self.unit = np.ascontiguousarray(unit)

    def run(self, first: Rows) -> None:
        """Search from some rows, bound, search from what the bound opens, and settle the rest."""
        roomy = self.with_room(first)
        self.descend(roomy)
        if self.upper <= self.lower:
            return
        self._climb(roomy)
        rows = self.left(self.upper)
        close = self.upper * (1 - _CLOSE) <= self.lower < np.inf or self.lower > self.rules.enough
        fit = _PROGRAM_PAIRS // max(len(self.loads), 1)
        if not close and len(rows) <= fit:
            self._program(rows)
        elif not close and fit >= _ROOMY * self.k:
            hopeful = rows[np.argsort(self._promise[rows], kind="stable")[:fit]]
            self._program(np.union1d(hopeful, self.best), proves=False)
        self.lower = min(self.lower, self.upper)

    def left(self, upper: float) -> Rows:
        """Rows that may be part of anything cheaper."""
        found: Rows = np.union1d(np.flatnonzero(self._promise <= upper), self.best)
        return found.astype(np.int64)

    def with_room(self, rows: Rows) -> Rows:
        """The same rows, the smallest exchanged for the roomiest until all demand has room."""
        need = self.loads.sum() if self.spare is None or self._sizes > 1 else 0.0
        if self._sizes > 1:
            return self._sized(rows, need)
        rows = np.array(rows)
        others = [i for i in np.argsort(-self.room, kind="stable") if i not in set(rows.tolist())]
        free = np.setdiff1d(rows, self.fixed)
        for out, into in zip(free[np.argsort(self.room[free], kind="stable")], others):
            if self.room[rows].sum() >= need:
                break
            rows[rows == out] = into
        return rows

    def _sized(self, rows: Rows, need: float) -> Rows:
        """The places of some rows, k of them, in sizes that have room enough: those of most demand
        nearby the largest.
        """
        every = np.arange(self._places)
        places = np.r_[self.fixed, np.setdiff1d(self.place[rows], self.fixed)]
        places = np.r_[places, np.setdiff1d(every, places)][: self.k].astype(np.int64)
        each = self.room[:: self._places]
        order, free = np.argsort(each, kind="stable"), np.minimum(self.rules.most, self.k)
        own = np.repeat(order, free[order])[: self.k]
        free = free - np.bincount(own, minlength=self._sizes)
        for i in range(self.k - 1, -1, -1):
            largest = int(order[free[order] > 0][-1]) if free.any() else int(own[i])
            if each[own].sum() >= need or each[largest] <= each[own[i]]:
                break
            free[own[i]] += 1
            free[largest] -= 1
            own[i] = largest
        near = np.bincount(self.costs[places].argmin(axis=0), self.loads, self.k)
        own = own[np.argsort(each[own], kind="stable")]
        rows = np.empty(self.k, np.int64)
        at = np.argsort(near, kind="stable")
        rows[at] = own * self._places + places[at]
        return rows

    def flow(self, rows: Rows) -> tuple[float, Floats | None]:
        """Cost of serving everybody from these rows, and the loads; infinite without room."""
        unit, room, k, least = self.unit[rows], self.room[rows], len(rows), self.rules.least
        if least > 0:  # what must be full has a room of its own, and all else costs more
            dear = (k + 1.0) * max(float(unit.max()), 1e-300)
            unit = np.vstack([unit, unit + dear])
            room = np.r_[np.minimum(room, least), np.maximum(room - least, 0.0)]
        if self.spare is not None:
            none = np.where(self.loads > 0, self.spare / np.where(self.loads > 0, self.loads, 1), 0)
            unit, room = np.vstack([unit, none]), np.r_[room, self.loads.sum()]
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

    def descend(self, rows: Rows) -> None:
        """Exchange one row for another while that lowers the cost, the most promising first."""
        cost, flow = self.flow(rows)
        for _ in range(_MOVES):
            if flow is None or self.deadline.over or cost <= self.lower:
                break
            better = False
            for tried in self._promising(rows, flow, cost):
                value, its = self.flow(tried)
                if value < cost * (1 - 1e-9):
                    rows, cost, flow, better = tried, value, its, True
                    break
            if not better:
                break
        if cost < self.upper:
            self.best, self.upper = rows, cost

    def _promising(self, rows: Rows, flow: Floats, cost: float) -> list[Rows]:
        """Exchanges that can lower the cost, the best first, by a lower bound of the cost after
        each: prices of room that prove the present flow best stay, and the site that enters asks
        what it earns most by (duality: any prices bound the cost from below). Then exchanges of
        sizes.
        """
        unit, fee = self.unit[rows], self.rules.fee
        price = _prices(unit, flow[: len(rows)], self.room[rows])
        full = (unit + price[:, None]) * self.loads
        earns = np.empty(len(self.costs))
        pairs: list[tuple[float, int, int]] = []
        alone = len(rows) == 1 and self.spare is None
        for t, row in enumerate(rows):
            if alone or (self._held[row] and self._sizes == 1):
                continue
            paid = np.full(len(self.loads), np.inf)
            if len(rows) > 1:
                paid = np.delete(full, t, axis=0).min(axis=0)
            paid = paid if self.spare is None else np.minimum(paid, self.spare)
            left = float(paid.sum() - np.delete(price * self.room[rows] - fee[rows], t).sum())
            knapsacks(self.costs, paid, self.loads, self.room, self.rules.least, earns)
            bound = left - earns + fee
            bound[self._barred(rows, t)] = np.inf
            ends = np.argpartition(bound, min(_TRIED, len(bound) - 1))[:_TRIED]
            pairs += [(bound[i], t, int(i)) for i in ends if bound[i] < cost * (1 - 1e-9)]
        if alone:
            enough = self.room >= self.loads.sum() * (1 - 1e-9)
            enough &= ~self._barred(rows, 0)
            sums = self.costs.sum(axis=1) + fee
            pairs = [(float(sums[i]), 0, int(i)) for i in np.flatnonzero(enough)]
        found = [np.r_[rows[:t], i, rows[t + 1 :]] for _, t, i in sorted(pairs)[:_TRIED]]
        return found + self._resized(rows)

    def _barred(self, rows: Rows, t: int) -> NDArray[np.bool_]:
        """Rows that cannot take the place of the t-th."""
        others = np.delete(rows, t)
        barred = np.isin(self.place, self.place[others])
        barred[rows[t]] = True
        if self._held[rows[t]]:
            barred |= self.place != self.place[rows[t]]
        full = np.bincount(self.size[others], minlength=self._sizes) >= self.rules.most
        return barred | full[self.size]

    def _resized(self, rows: Rows) -> list[Rows]:
        """Two sites exchange their sizes."""
        found = []
        for a in range(len(rows) if self._sizes > 1 else 0):
            for b in range(a):
                if self.size[rows[a]] != self.size[rows[b]]:
                    tried = np.array(rows)
                    tried[a] = self.size[rows[b]] * self._places + self.place[rows[a]]
                    tried[b] = self.size[rows[a]] * self._places + self.place[rows[b]]
                    found.append(tried)
        return found

    def _climb(self, first: Rows) -> None:
        """Subgradient steps on what clients pay; what each row promises: a bound of all choices
        that it is part of.
        """
        costs, m = self.costs, len(self.costs)
        price = np.partition(costs, min(self.k, m - 1), axis=0)[min(self.k, m - 1)] * 1.0
        if self.spare is not None:
            price = np.minimum(price, self.spare)
        pace, vain, at, top = 1.0, 0, price, -np.inf
        aim = 1.2 * self.flow(first)[0]
        known: set[bytes] = set()
        for step in range(_STEPS):
            value, _, chosen, slope = self._relaxed(price)
            vain = 0 if value > top + 1e-5 * abs(self.upper) else vain + 1
            if value > top:
                top, at = value, price.copy()
            if step % _EVERY == _EVERY - 1 and np.sort(chosen).tobytes() not in known:
                known.add(np.sort(chosen).tobytes())
                rows = self.with_room(chosen)
                if self.flow(rows)[0] < self.upper * _HOPEFUL and len(known) <= _DESCENTS:
                    self.descend(rows)
            self.deadline.tell(self.upper, max(top, self.lower))
            if top >= self.upper * (1 - 1e-9) or pace < 5e-3 or self.deadline.over:
                break
            if top > self.rules.enough:
                break
            if vain >= _PATIENCE:
                pace, vain, price = pace / 2, 0, at.copy()
                continue
            length, aim = float(slope @ slope), min(aim, self.upper * 1.0005)
            if length == 0 or not np.isfinite(aim):
                break
            price = np.maximum(price + pace * (aim - value) / length * slope, 0.0)
            if self.spare is not None:
                price = np.minimum(price, self.spare)
        self.lower = max(self.lower, min(top, self.upper))
        value, earns, chosen, _ = self._relaxed(at)
        free = chosen[~self._held[chosen]]
        promise = value + earns[free].min() - earns if len(free) else np.full(m, np.inf)
        own = np.full(self._places, -np.inf)
        np.maximum.at(own, self.place, earns)
        self._promise = np.where(self._held, value + own[self.place] - earns, promise)

    def _relaxed(self, price: Floats) -> tuple[float, Floats, Rows, Floats]:
        """Bound, earnings, rows opened and the slope of the bound."""
        earns, least = np.empty(len(self.costs)), self.rules.least
        knapsacks(self.costs, price, self.loads, self.room, least, earns)
        earns -= self.rules.fee
        chosen = self._opened(earns)
        served = np.zeros(len(self.loads))
        for i in chosen:
            fill_knapsack(self.costs[i], price, self.loads, self.room[i], least, served, 1.0)
        value = float(price.sum() - earns[chosen].sum())
        return value - 1e-12 * abs(float(price.sum())), earns, chosen, 1.0 - served

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

    def _program(self, rows: Rows, proves: bool = True) -> None:
        """HiGHS on some rows, outside of which nothing better is if that `proves`."""
        x, bound = self.program(rows)
        if x is not None:
            chosen = rows[np.argsort(-x[: len(rows)], kind="stable")[: self.k]]
            value = self.flow(chosen)[0]
            if value < self.upper:
                self.best, self.upper = chosen, value
        if proves:
            self.lower = max(self.lower, min(bound, self.upper))

    def program(self, rows: Rows, *, whole: bool = False) -> tuple[Floats | None, float]:
        """HiGHS's best choice among some rows, and a bound: whether each is open, then what share
        of each client it serves, the `whole` of it or nothing.
        """
        m, n = len(rows), len(self.loads)
        spare = self.spare is not None
        served = [kron(np.ones((1, m)), eye_array(n))] + ([eye_array(n)] if spare else [])
        nothing = csr_array((n, m))
        rules = [Rule(hstack([nothing, *served], format="csr"), 1.0, 1.0)]
        filled = kron(eye_array(m), self.loads[None, :])
        blank = [csr_array((m, n))] if spare else []
        room = np.minimum(self.room[rows], self.loads.sum())
        bounds = [(-room, -np.inf, 0.0)]  # exactly: HiGHS errs by coefficients like 1 + 1e-9
        if self.rules.least > 0:
            bounds.append((np.full(m, -self.rules.least), 0.0, np.inf))
        for by_row, low, high in bounds:
            parts = [csr_array(np.diag(by_row)), filled, *blank]
            rules.append(Rule(hstack(parts, format="csr"), low, high))
        linked = kron(eye_array(m), np.ones((n, 1)))
        blank = [csr_array((m * n, n))] if spare else []
        rules.append(Rule(hstack([linked, -eye_array(m * n), *blank], format="csr"), 0.0, np.inf))
        n_vars = m + m * n + (n if spare else 0)

        def counted(groups: Rows, low: Floats, high: Floats) -> None:
            at = groups >= 0
            own = csr_array((np.ones(at.sum()), (groups[at], np.flatnonzero(at))), (len(low), m))
            rest = csr_array((len(low), n_vars - m))
            rules.append(Rule(hstack([own, rest], format="csr"), low, high))

        counted(np.zeros(m, np.int64), np.full(1, float(self.k)), np.full(1, float(self.k)))
        held = np.isin(np.arange(self._places), self.fixed)
        if self._sizes > 1 or held.any():
            counted(self.place[rows], held.astype(np.float64), np.ones(self._places))
        if self._sizes > 1:
            counted(self.size[rows], np.zeros(self._sizes), self.rules.most.astype(np.float64))
        parts = [self.rules.fee[rows], self.costs[rows].ravel()]
        if self.spare is not None:
            parts.append(self.spare)
        integer = np.zeros(n_vars, np.int8)
        integer[: n_vars if whole else m] = 1
        answer = solved(
            np.concatenate(parts),
            rules,
            integer,
            np.ones(n_vars),
            self.deadline,
            most=_SECONDS,
            gap=_CLOSE / 10,
        )
        return answer.x, answer.bound


def _prices(unit: Floats, flow: Floats, room: Floats) -> Floats:
    """What one more unit of room at each site would save."""
    k = len(unit)
    used = flow.sum(axis=1)
    arcs = np.full((k, k), np.inf)
    for a in range(k):
        here = np.flatnonzero(flow[a] > 0)
        if len(here):
            arcs[a] = (unit[:, here] - unit[a, here]).min(axis=1)
    at = np.where(used < room * (1 - 1e-9), 0.0, np.inf)
    for _ in range(k):
        reached = np.minimum(at, (at[:, None] + arcs).min(axis=0))
        if np.array_equal(reached, at):
            break
        at = reached
    return np.maximum(0.0, -np.where(np.isfinite(at), at, 0.0))
