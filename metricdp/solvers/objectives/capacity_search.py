"""Sites that can be full: exchanges, a Lagrangian bound, and HiGHS on what is left."""

from __future__ import annotations

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


class CapacitySearch:
    """k rows of least cost of serving everybody within their room.

    `costs` (n_sites, n_clients): of serving all of each client; `loads` (n_clients,); `room`
    (n_sites,); `spare` (n_clients,): what leaving each client unserved costs, where that is
    allowed.

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
    ) -> None:
        self.costs, self.loads, self.room = np.ascontiguousarray(costs), loads, room
        self.k, self.fixed, self.spare, self.deadline = k, fixed, spare, deadline
        self.best, self.upper, self.lower = fixed, np.inf, 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = np.where(loads > 0, costs / np.where(loads > 0, loads, 1.0), 0.0)
        self.unit = np.ascontiguousarray(unit)

    def run(self, first: Rows) -> None:
        """Search from some rows, bound, search from what the bound opens, and settle the rest."""
        roomy = self.with_room(first)
        self.descend(roomy)
        rows = self._climb(roomy)
        close = self.upper * (1 - _CLOSE) <= self.lower < np.inf
        fit = _PROGRAM_PAIRS // max(len(self.loads), 1)
        if not close and len(rows) <= fit:
            self._program(rows)
        elif not close and fit >= _ROOMY * self.k:
            hopeful = rows[np.argsort(self._promise[rows], kind="stable")[:fit]]
            self._program(np.union1d(hopeful, self.best), proves=False)
        self.lower = min(self.lower, self.upper)

    def with_room(self, rows: Rows) -> Rows:
        """The same rows, the smallest exchanged for the roomiest until all demand has room."""
        rows = np.array(rows)
        others = [i for i in np.argsort(-self.room, kind="stable") if i not in set(rows.tolist())]
        need = self.loads.sum() if self.spare is None else 0.0
        free = np.setdiff1d(rows, self.fixed)
        for out, into in zip(free[np.argsort(self.room[free], kind="stable")], others):
            if self.room[rows].sum() >= need:
                break
            rows[rows == out] = into
        return rows

    def flow(self, rows: Rows) -> tuple[float, Floats | None]:
        """Cost of serving everybody from these rows, and the loads; infinite without room."""
        unit, room = self.unit[rows], self.room[rows]
        if self.spare is not None:
            none = np.where(self.loads > 0, self.spare / np.where(self.loads > 0, self.loads, 1), 0)
            unit, room = np.vstack([unit, none]), np.r_[room, self.loads.sum()]
        flow = np.empty_like(unit)
        if not transport(unit, self.loads, room, flow):
            return np.inf, None
        free = self.loads <= 0  # clients of no load are served by the cheapest
        extra = float(self.costs[rows][:, free].min(axis=0).sum()) if free.any() else 0.0
        return float((unit * flow).sum()) + extra, flow

    def descend(self, rows: Rows) -> None:
        """Exchange one row for another while that lowers the cost, the most promising first."""
        cost, flow = self.flow(rows)
        for _ in range(_MOVES):
            if flow is None or self.deadline.over:
                break
            better = False
            for leaves, enters in self._promising(rows, flow, cost):
                tried = np.where(rows == leaves, enters, rows)
                value, its = self.flow(tried)
                if value < cost * (1 - 1e-9):
                    rows, cost, flow, better = tried, value, its, True
                    break
            if not better:
                break
        if cost < self.upper:
            self.best, self.upper = rows, cost

    def _promising(self, rows: Rows, flow: Floats, cost: float) -> list[tuple[int, int]]:
        """Exchanges that can lower the cost, the best first, by a lower bound of the cost after
        each: prices of room that prove the present flow best stay, and the site that enters asks
        what it earns most by (duality: any prices bound the cost from below).
        """
        unit = self.unit[rows]
        price = _prices(unit, flow[: len(rows)], self.room[rows])
        full = (unit + price[:, None]) * self.loads
        earns = np.empty(len(self.costs))
        pairs: list[tuple[float, int, int]] = []
        for t, row in enumerate(rows):
            if row in self.fixed or (len(rows) == 1 and self.spare is None):
                continue
            paid = np.full(len(self.loads), np.inf)
            if len(rows) > 1:
                paid = np.delete(full, t, axis=0).min(axis=0)
            paid = paid if self.spare is None else np.minimum(paid, self.spare)
            left = float(paid.sum() - np.delete(price * self.room[rows], t).sum())
            knapsacks(self.costs, paid, self.loads, self.room, earns)
            bound = left - earns
            bound[rows] = np.inf
            ends = np.argpartition(bound, min(_TRIED, len(bound) - 1))[:_TRIED]
            pairs += [(bound[i], int(row), int(i)) for i in ends if bound[i] < cost * (1 - 1e-9)]
        if len(rows) == 1 and self.spare is None and len(self.fixed) == 0:
            enough = self.room >= self.loads.sum() * (1 - 1e-9)
            pairs = [
                (c, int(rows[0]), i) for i, c in enumerate(self.costs.sum(axis=1)) if enough[i]
            ]
        return [(leaves, enters) for _, leaves, enters in sorted(pairs)[:_TRIED]]

    def _climb(self, first: Rows) -> Rows:
        """Subgradient steps on what clients pay; rows that may be part of anything better."""
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
            if top >= self.upper * (1 - 1e-9) or pace < 5e-3 or self.deadline.over:
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
        free = np.setdiff1d(chosen, self.fixed)
        self._promise = -earns
        if len(free) == 0:
            return chosen
        bound = value + earns[free].min() - earns
        self._promise = bound
        return np.union1d(np.flatnonzero(bound <= self.upper), np.r_[chosen, self.best])

    def _relaxed(self, price: Floats) -> tuple[float, Floats, Rows, Floats]:
        """Bound, earnings, rows opened and the slope of the bound."""
        earns = np.empty(len(self.costs))
        knapsacks(self.costs, price, self.loads, self.room, earns)
        free = np.setdiff1d(np.arange(len(earns)), self.fixed)
        left = self.k - len(self.fixed)
        top = free[np.argsort(-earns[free], kind="stable")[:left]]
        chosen = np.r_[self.fixed, top].astype(np.int64)
        served = np.zeros(len(self.loads))
        for i in chosen:
            fill_knapsack(self.costs[i], price, self.loads, self.room[i], served, 1.0)
        value = float(price.sum() - earns[chosen].sum())
        return value - 1e-12 * abs(float(price.sum())), earns, chosen, 1.0 - served

    def _program(self, rows: Rows, proves: bool = True) -> None:
        """HiGHS on some rows, outside of which nothing better is if that `proves`."""
        m, n = len(rows), len(self.loads)
        spare = self.spare is not None
        served = [kron(np.ones((1, m)), eye_array(n))] + ([eye_array(n)] if spare else [])
        nothing = csr_array((n, m))
        rules = [Rule(hstack([nothing, *served], format="csr"), 1.0, 1.0)]
        filled = kron(eye_array(m), self.loads[None, :])
        room = -np.minimum(self.room[rows], self.loads.sum())
        blank = [csr_array((m, n))] if spare else []
        rules.append(
            Rule(hstack([csr_array(np.diag(room)), filled, *blank], format="csr"), -np.inf, 0.0)
        )
        linked = kron(eye_array(m), np.ones((n, 1)))
        blank = [csr_array((m * n, n))] if spare else []
        rules.append(Rule(hstack([linked, -eye_array(m * n), *blank], format="csr"), 0.0, np.inf))
        n_vars = m + m * n + (n if spare else 0)
        count = csr_array((np.ones(m), (np.zeros(m, int), np.arange(m))), (1, n_vars))
        rules.append(Rule(count, float(self.k), float(self.k)))
        must = np.flatnonzero(np.isin(rows, self.fixed))
        if len(must):
            held = (np.ones(len(must)), (np.arange(len(must)), must))
            rules.append(Rule(csr_array(held, (len(must), n_vars)), 1.0, 1.0))
        parts = [np.zeros(m), self.costs[rows].ravel()]
        if self.spare is not None:
            parts.append(self.spare)
        integer = np.zeros(n_vars, np.int8)
        integer[:m] = 1
        answer = solved(
            np.concatenate(parts),
            rules,
            integer,
            np.ones(n_vars),
            self.deadline,
            most=_SECONDS,
            gap=_CLOSE / 10,
        )
        if answer.x is not None:
            chosen = rows[np.argsort(-answer.x[:m], kind="stable")[: self.k]]
            value = self.flow(chosen)[0]
            if value < self.upper:
                self.best, self.upper = chosen, value
        if proves:
            self.lower = max(self.lower, min(answer.bound, self.upper))


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
