"""Clients parted among sites by listed sets of them: a linear program with cuts of three clients
(Jepsen, Petersen, Spoorendonk & Pisinger, 2008), which strikes sets out, and HiGHS on those left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack

from metricdp.arrays import Bools
from metricdp.kernels.packing import kept_sets, left_of
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.programs import Rule, scale_of, solved
from metricdp.solvers.stopping import Deadline

_FEW = 1_200
"""Sets that HiGHS chooses among without more cuts."""
_NEAREST, _OPEN = 100_000, 0.1
"""Sets among which a linear program's are looked for; what part of the gap it may leave open: more
rounds of cuts for fewer programs (instances 8, 14 and 20 of pmedcap1).
"""
_ROUNDS, _AT_ONCE, _VIOLATED = 60, 60, 0.02
"""Rounds of cuts; most of a round, and by how much each is violated."""
_MOST, _GAIN = 30_000, 1e-5
"""Most sets that HiGHS chooses among; least relative gain of a round of cuts."""
_SECONDS = 20.0
"""Of HiGHS at most, for each linear program and for the choice at the end."""

Rows = NDArray[Any]


class Parted(NamedTuple):
    """No choice of sets that is below the aim costs less than `bound`; `sets`: the cheapest one
    found: members of each, and its site.
    """

    bound: float
    sets: list[tuple[Rows, int]] | None


@dataclass(eq=False)
class Partitioning:
    """Sets of clients, one for each site at most, that part all clients at least cost.

    `sets`: starts and members of each; `site`: of each, -1 for sets that need none; `cost`; `fixed`
    (n_sites,): sites that do not count towards the `left` others; `aim`: only what is cheaper is
    looked for.
    """

    sets: tuple[Rows, Rows]
    site: Rows
    cost: Floats
    n: int
    fixed: Bools
    left: int
    aim: float
    bound: float = -np.inf

    def __post_init__(self) -> None:
        self.triples = np.empty((0, 3), np.int64)
        self.excess, self.used = np.zeros(len(self.site)), np.zeros(len(self.site), np.bool_)

    def solved(self, prices: Floats, deadline: Deadline) -> Parted:
        """Bound and strike out, cut, until few sets are left; then HiGHS."""
        paid, extra = prices, np.empty(0)
        self._strike(paid, extra)
        vain, open_ = 0, _OPEN
        for _ in range(_ROUNDS):
            if self.bound >= self.aim or len(self.site) <= _FEW or deadline.over:
                break
            before, part = self.bound, self._nearest()
            x, columns, paid, extra = part._relaxed(paid, extra, open_, deadline)
            whole, x = _parts(x, len(columns)), x[: len(columns)]
            new = part._violated(x, part._held(columns).toarray())
            chosen = columns[x > 0.5]
            sets, cost = part._groups(chosen), float(part.cost[chosen].sum())
            self._strike(paid, extra)
            proven = cost <= self.bound + 1e-7 * abs(self.bound)
            if whole and (proven or cost < self.aim):
                return Parted(max(self.bound, min(self.aim, cost)) if proven else self.bound, sets)
            vain = vain + 1 if self.bound < before + _GAIN * abs(self.bound) else 0
            if vain > 1 or (part is self and len(new) == 0 and open_ == 0.0):
                break
            open_ = _OPEN if len(new) else 0.0
            used = extra > 0.0
            self.triples = np.concatenate([self.triples[used], new])
            extra = np.r_[extra[used], np.zeros(len(new))]
        if self.bound < self.aim and len(self.site) <= _MOST:
            return self._chosen(deadline)
        return Parted(self.bound, None)

    def _nearest(self) -> Partitioning:
        """With the sets alone that are nearest to being used, where they are many."""
        if len(self.site) <= _NEAREST:
            return self
        near = np.sort(np.argpartition(self.excess, _NEAREST)[:_NEAREST])
        part = replace(
            self, sets=kept_sets(self.sets, near), site=self.site[near], cost=self.cost[near]
        )
        part.triples, part.excess = self.triples, self.excess[near]
        return part

    def _left(self, paid: Floats, extra: Floats, most: Floats) -> Floats:
        rest = np.empty(len(self.cost))
        left_of(self.sets, self.cost, paid, self.triples, extra, most, rest)
        return rest

    def _strike(self, paid: Floats, extra: Floats) -> float:
        """A bound by these prices; sets that are in nothing cheaper than the aim are left out."""
        rest = self._left(paid, extra, np.full(len(self.cost), np.inf))
        least = np.zeros(len(self.fixed))
        placed = self.site >= 0
        np.minimum.at(least, self.site[placed], rest[placed])
        free = np.sort(least[~self.fixed])
        last = free[min(self.left, len(free)) - 1] if self.left and len(free) else 0.0
        value = float(paid.sum() - extra.sum() + least[self.fixed].sum())
        value += float(free[: self.left].sum() + np.minimum(rest[~placed], 0.0).sum())
        value -= 1e-12 * float(np.abs(paid).sum())
        self.bound = max(self.bound, value)
        chosen = np.where(self.fixed, least, np.maximum(least, last))
        instead = np.where(placed, chosen[self.site], np.minimum(rest, 0.0))
        excess = np.maximum(rest - instead, 0.0)
        kept = np.flatnonzero(value + excess < self.aim)
        self.sets = kept_sets(self.sets, kept)
        self.site, self.cost = self.site[kept], self.cost[kept]
        self.excess, self.used = excess[kept], self.used[kept]
        return value

    def _held(self, columns: Rows) -> csc_array:
        starts, members = kept_sets(self.sets, columns)
        return csc_array((np.ones(len(members)), members, starts), shape=(self.n, len(columns)))

    def _rules(self, columns: Rows) -> tuple[csc_array, csr_array, Floats, Rows]:
        """Equalities and inequalities of some sets, the latter's right sides and sites."""
        held, site = self._held(columns), self.site[columns]
        placed = np.flatnonzero(site >= 0)
        sites, at = np.unique(site[placed], return_inverse=True)
        single = csr_array((np.ones(len(placed)), (at, placed)), shape=(len(sites), len(columns)))
        counted = np.zeros((1, len(columns)))
        counted[0, placed] = ~self.fixed[site[placed]]
        rows = held.tocsr()
        inside = [rows[self.triples[:, i]] for i in range(3)]
        twice = (inside[0] + inside[1] + inside[2] >= 1.5).astype(float)
        below = vstack([csr_array(counted), single, twice], format="csr")
        return held, below, np.r_[float(self.left), np.ones(below.shape[0] - 1)], sites

    def _relaxed(
        self, paid: Floats, extra: Floats, open_: float, deadline: Deadline
    ) -> tuple[Floats, Rows, Floats, Floats]:
        """The linear program, its bound by prices half way to the best so far (Wentges, 1997),
        until this part of the gap is open: values, of sets and of clients in none; which sets;
        what clients pay, and what cuts give.
        """
        from scipy.optimize import linprog

        top = 2.0 * float(np.abs(paid).sum())
        own, unit = eye_array(self.n), scale_of(np.append(self.cost, top))
        self.used[:] = False
        self.used[np.argsort(self.excess, kind="stable")[: 10 * self.n]] = True
        first = best = self._strike(paid, extra)
        while best < self.aim and not deadline.over:
            columns = np.flatnonzero(self.used)
            held, below, sides, sites = self._rules(columns)
            answer = linprog(
                np.r_[self.cost[columns], np.full(self.n, top)] * unit,
                A_ub=hstack([below, csr_array((len(sides), self.n))], format="csc"),
                b_ub=sides,
                A_eq=hstack([held, own], format="csc"),
                b_eq=np.ones(self.n),
                method="highs-ds",
                options={"time_limit": max(min(_SECONDS, deadline.left), 0.01)},
            )
            if answer.status != 0:
                break
            moved = first < best or len(self.triples) == 0
            few = moved and answer.fun / unit - best < open_ * (self.aim - best)
            if few and not _parts(answer.x, len(columns)):
                return answer.x, columns, paid, extra
            now, less = answer.eqlin.marginals / unit, -answer.ineqlin.marginals / unit
            gives = np.maximum(less[1 + len(sites) :], 0.0)
            by_site = np.where(self.fixed, 0.0, less[0])
            by_site[sites] += less[1 : 1 + len(sites)]
            base = np.where(self.site >= 0, by_site[self.site], 0.0)
            rest = self._left(now, gives, -base) + base
            rest[columns] = 0.0
            new = np.flatnonzero(rest < -1e-9 * top)
            if len(new) == 0:
                return answer.x, columns, now, gives
            self.used[new[np.argsort(rest[new], kind="stable")[: 5 * self.n]]] = True
            middle = (paid + now) / 2.0, (extra + gives) / 2.0
            value = self._strike(*middle)
            if value > best:
                best, (paid, extra) = value, middle
        return np.full(self.n, 0.5), np.empty(0, np.int64), paid, extra

    def _violated(self, x: Floats, holds: Floats) -> Rows:
        """Three clients of whom sets of two or more are chosen more than once."""
        support = np.flatnonzero(x > 1e-6)
        weight, inside = x[support], holds[:, support]
        pairs = (inside * weight) @ inside.T
        found: dict[tuple[int, int, int], float] = {}
        known = set(map(tuple, self.triples.tolist()))
        for a in range(self.n):
            others = a + 1 + np.flatnonzero(pairs[a, a + 1 :] > 1e-6)
            for b, c in combinations(others.tolist(), 2):
                total = pairs[a, b] + pairs[a, c] + pairs[b, c]
                if total > 1.0 + _VIOLATED and (a, b, c) not in known:
                    total -= 2.0 * float(weight @ (inside[a] * inside[b] * inside[c]))
                    if total > 1.0 + _VIOLATED:
                        found[a, b, c] = total
        worst = sorted(found, key=lambda t: -found[t])[:_AT_ONCE]
        return np.array(worst, np.int64).reshape(-1, 3)

    def _chosen(self, deadline: Deadline) -> Parted:
        """HiGHS on the sets left."""
        n = len(self.cost)
        if n == 0:
            return Parted(self.aim, None)
        held, below, sides, _ = self._rules(np.arange(n))
        rules = [Rule(held, 1.0, 1.0), Rule(below, -np.inf, sides)]
        answer = solved(self.cost, rules, n, deadline, most=_SECONDS)
        bound = max(self.bound, min(answer.bound, self.aim))
        chosen = None if answer.x is None else self._groups(np.flatnonzero(answer.x > 0.5))
        return Parted(bound, chosen)

    def _groups(self, columns: Rows) -> list[tuple[Rows, int]]:
        starts, members = self.sets
        return [(members[starts[i] : starts[i + 1]], int(self.site[i])) for i in columns]


def _parts(x: Floats, n: int) -> bool:
    """Whether the first n of a linear program's values are whole, and no client is in no set."""
    return bool((np.abs(x - np.round(x)) < 1e-6).all() and x[n:].max(initial=0.0) < 0.5)
