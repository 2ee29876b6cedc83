"""Single-source capacitated k-median: local search, a Lagrangian bound of 0-1 knapsacks, and set
partitioning over all sets of clients that a better solution can use (Baldacci, Hadjiconstantinou,
Maniezzo & Mingozzi, 2002).

The partitioning is over listed columns, each a set of clients and the site that serves them: the
linear relaxation with subset-row cuts (Jepsen, Petersen, Spoorendonk & Pisinger, 2008),
reduced-cost fixing, then HiGHS on the columns left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack

from metricdp.arguments import Bools
from metricdp.kernels.packing import profitable_sets, reduced_costs, subsets_of
from metricdp.solvers.objectives.capacity_search import CapacitySearch, Rows, SiteRules
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.objectives.site_branches import Ascent, Branch, SiteGroups
from metricdp.solvers.programs import Constraint, minimized, relaxed, scale_of
from metricdp.solvers.stopping import Deadline

_FEW_SETS = 800
"""HiGHS chooses among so few sets without more cuts."""
_NEAREST_SETS, _COLUMNS, _GAP_LEFT = 100_000, 20, 0.2
"""Sets of least excess among which columns are priced at first; columns for each client that a
linear program starts with, and that join it at once; part of the gap at which pricing stops: larger
ones mean larger linear programs, but fewer (8, 14 and 20 of pmedcap1).
"""
_CUT_ROUNDS, _CUTS_A_ROUND, _MIN_VIOLATION = 60, 120, 0.05
"""Rounds of cuts; most cuts that one adds, and least violation of each."""
_MOST_SETS, _MIN_GAIN = 30_000, 1e-5
"""Most sets that HiGHS chooses among; least relative gain in the bound of a round of cuts."""
_SECONDS = 20.0
"""Time limit of HiGHS, for each linear program and for the integer program at the end."""


class Answer(NamedTuple):
    """`bound`: lower bound of every partition that costs less than the cutoff; `sets`: members and
    site of each set of the best partition found, None if none was.
    """

    bound: float
    sets: list[tuple[Rows, int]] | None


@dataclass(eq=False)
class Partitioning:
    """Partition all clients into listed sets at least cost, at most one set for each site.

    `sets`: starts (n_sets + 1,) and members; `site` (n_sets,): -1 for sets that need none; `cost`
    (n_sets,); `fixed` (n_sites,): required sites, which may be used beside `n_free` others;
    `cutoff`: only cheaper partitions are looked for.

    `triples` (n_cuts, 3): subset-row cuts: at most one set used holds two or more of these clients;
    `excess` (n_sets,): how far the bound rises if the set is used; `in_program` (n_sets,): whether
    it is a column of the restricted linear program.
    """

    sets: tuple[Rows, NDArray[Any]]
    site: NDArray[Any]
    cost: Floats
    n_clients: int
    fixed: Bools
    n_free: int
    cutoff: float
    bound: float = -np.inf

    def __post_init__(self) -> None:
        self.triples = np.empty((0, 3), np.int64)
        self.excess, self.in_program = np.zeros(len(self.site)), np.zeros(len(self.site), np.bool_)

    def solved(self, duals: Floats, deadline: Deadline) -> Answer:
        """Relaxation, reduced-cost fixing and cuts in turn until few sets are left; then HiGHS."""
        cut_duals = np.empty(0)
        self._fix_by_reduced_costs(duals, cut_duals)
        stalled, tolerance, nearest = 0, _GAP_LEFT, _NEAREST_SETS
        for _ in range(_CUT_ROUNDS):
            if self.bound >= self.cutoff or len(self.site) <= _FEW_SETS or deadline.over:
                break
            before, part = self.bound, self._nearest_sets(nearest)
            x, columns, duals, cut_duals = part._relaxation(duals, cut_duals, tolerance, deadline)
            integral, x = _integral(x, len(columns)), x[: len(columns)]
            new = part._violated_cuts(x, part._incidence(columns).toarray())
            chosen = columns[x > 0.5]
            sets, cost = part._listed(chosen), float(part.cost[chosen].sum())
            self._fix_by_reduced_costs(duals, cut_duals)
            proven = cost <= self.bound + 1e-7 * abs(self.bound)
            if integral and (proven or cost < self.cutoff):
                return Answer(
                    max(self.bound, min(self.cutoff, cost)) if proven else self.bound, sets
                )
            stalled = stalled + 1 if self.bound < before + _MIN_GAIN * abs(self.bound) else 0
            if stalled and nearest < len(self.site) <= 2 * _NEAREST_SETS:
                # The few sets beyond those of the part hold the bound down.
                nearest, stalled = len(self.site), 0
            if stalled > 1 or (part is self and len(new) == 0 and tolerance == 0.0):
                break
            tolerance = _GAP_LEFT if len(new) else 0.0
            binding = cut_duals > 0.0
            # Cuts that no longer bind are dropped.
            self.triples = np.concatenate([self.triples[binding], new])
            cut_duals = np.r_[cut_duals[binding], np.zeros(len(new))]
        if self.bound < self.cutoff and len(self.site) <= _MOST_SETS:
            return self._solved_exactly(deadline)
        return Answer(self.bound, None)

    def _nearest_sets(self, most: int) -> Partitioning:
        """The same problem on so many sets of least excess alone, where there are more."""
        if len(self.site) <= most:
            return self
        near = np.sort(np.argpartition(self.excess, most)[:most])
        part = replace(
            self, sets=subsets_of(self.sets, near), site=self.site[near], cost=self.cost[near]
        )
        part.triples, part.excess = self.triples, self.excess[near]
        return part

    def _reduced_costs(self, duals: Floats, cut_duals: Floats, ceilings: Floats) -> Floats:
        reduced = np.empty(len(self.cost))
        reduced_costs(self.sets, self.cost, duals, self.triples, cut_duals, ceilings, reduced)
        return reduced

    def _fix_by_reduced_costs(self, duals: Floats, cut_duals: Floats) -> float:
        """The Lagrangian bound of these duals; drops sets that no solution below the
        cutoff uses.
        """
        reduced = self._reduced_costs(duals, cut_duals, np.full(len(self.cost), np.inf))
        least = np.zeros(len(self.fixed))
        placed = self.site >= 0
        np.minimum.at(least, self.site[placed], reduced[placed])
        free = np.sort(least[~self.fixed])
        last = free[min(self.n_free, len(free)) - 1] if self.n_free and len(free) else 0.0
        value = float(duals.sum() - cut_duals.sum() + least[self.fixed].sum())
        value += float(free[: self.n_free].sum() + np.minimum(reduced[~placed], 0.0).sum())
        value -= 1e-12 * float(np.abs(duals).sum())
        self.bound = max(self.bound, value)
        # A set that is used replaces its site's best one, and a free site the last one opened.
        chosen = np.where(self.fixed, least, np.maximum(least, last))
        instead = np.where(placed, chosen[self.site], np.minimum(reduced, 0.0))
        excess = np.maximum(reduced - instead, 0.0)
        kept = np.flatnonzero(value + excess < self.cutoff)
        self.sets = subsets_of(self.sets, kept)
        self.site, self.cost = self.site[kept], self.cost[kept]
        self.excess, self.in_program = excess[kept], self.in_program[kept]
        return value

    def _incidence(self, columns: Rows) -> csc_array:
        starts, members = subsets_of(self.sets, columns)
        return csc_array(
            (np.ones(len(members)), members, starts), shape=(self.n_clients, len(columns))
        )

    def _constraints(self, columns: Rows) -> tuple[csc_array, csr_array, Floats, Rows]:
        """Of some sets: equalities (each client once) and inequalities (number of sites, one set a
        site, cuts); the right-hand sides of the latter, and the sites.
        """
        incidence, site = self._incidence(columns), self.site[columns]
        placed = np.flatnonzero(site >= 0)
        sites, at = np.unique(site[placed], return_inverse=True)
        single = csr_array((np.ones(len(placed)), (at, placed)), shape=(len(sites), len(columns)))
        counted = np.zeros((1, len(columns)))
        counted[0, placed] = ~self.fixed[site[placed]]
        rows = incidence.tocsr()
        inside = [rows[self.triples[:, i]] for i in range(3)]
        twice = (inside[0] + inside[1] + inside[2] >= 1.5).astype(float)
        below = vstack([csr_array(counted), single, twice], format="csr")
        return incidence, below, np.r_[float(self.n_free), np.ones(below.shape[0] - 1)], sites

    def _relaxation(
        self, duals: Floats, cut_duals: Floats, tolerance: float, deadline: Deadline
    ) -> tuple[Floats, Rows, Floats, Floats]:
        """Column generation over the listed sets with smoothed duals (Wentges, 1997), until at most
        `tolerance` of the gap to the cutoff is open.

        Returns the values of columns and, behind them, of clients left out; the columns; the dual
        prices of clients and of cuts.
        """
        top = 2.0 * float(np.abs(duals).sum())
        own, unit = eye_array(self.n_clients), scale_of(np.append(self.cost, top))
        self.in_program[:] = False
        most = _COLUMNS * self.n_clients
        self.in_program[np.argsort(self.excess, kind="stable")[:most]] = True
        first = best = self._fix_by_reduced_costs(duals, cut_duals)
        while best < self.cutoff and not deadline.over:
            columns = np.flatnonzero(self.in_program)
            incidence, below, sides, sites = self._constraints(columns)
            answer = relaxed(
                np.r_[self.cost[columns], np.full(self.n_clients, top)] * unit,
                hstack([below, csr_array((len(sides), self.n_clients))], format="csc"),
                sides,
                deadline,
                seconds=_SECONDS,
                presolve=False,
                bounds=(0, None),
                A_eq=hstack([incidence, own], format="csc"),
                b_eq=np.ones(self.n_clients),
                method="highs-ds",
            )
            if answer is None:
                break
            # Once smoothing has raised the bound, a small gap need not be closed by more columns.
            improved = first < best or len(self.triples) == 0
            close = improved and answer.fun / unit - best < tolerance * (self.cutoff - best)
            if close and not _integral(answer.x, len(columns)):
                return answer.x, columns, duals, cut_duals
            lp_duals, row_duals = answer.eqlin.marginals / unit, -answer.ineqlin.marginals / unit
            lp_cut_duals = np.maximum(row_duals[1 + len(sites) :], 0.0)
            by_site = np.where(self.fixed, 0.0, row_duals[0])
            by_site[sites] += row_duals[1 : 1 + len(sites)]
            # Price all sets: columns of negative reduced cost join the program.
            base = np.where(self.site >= 0, by_site[self.site], 0.0)
            reduced = self._reduced_costs(lp_duals, lp_cut_duals, -base) + base
            reduced[columns] = 0.0
            new = np.flatnonzero(reduced < -1e-9 * top)
            if len(new) == 0:
                return answer.x, columns, lp_duals, lp_cut_duals
            self.in_program[new[np.argsort(reduced[new], kind="stable")[:most]]] = True
            smoothed = (duals + lp_duals) / 2.0, (cut_duals + lp_cut_duals) / 2.0
            value = self._fix_by_reduced_costs(*smoothed)
            if value > best:
                best, (duals, cut_duals) = value, smoothed
        return np.full(self.n_clients, 0.5), np.empty(0, np.int64), duals, cut_duals

    def _violated_cuts(self, x: Floats, holds: Floats) -> Rows:
        """Triples of clients, (n_new, 3), whose subset-row cuts x violates most."""
        support = np.flatnonzero(x > 1e-6)
        weight, inside = x[support], holds[:, support]
        pairs = (inside * weight) @ inside.T
        found: dict[tuple[int, int, int], float] = {}
        known = set(map(tuple, self.triples.tolist()))
        for a in range(self.n_clients):
            others = a + 1 + np.flatnonzero(pairs[a, a + 1 :] > 1e-6)
            for b, c in combinations(others.tolist(), 2):
                total = pairs[a, b] + pairs[a, c] + pairs[b, c]
                if total > 1.0 + _MIN_VIOLATION and (a, b, c) not in known:
                    total -= 2.0 * float(weight @ (inside[a] * inside[b] * inside[c]))
                    if total > 1.0 + _MIN_VIOLATION:
                        found[a, b, c] = total
        worst = sorted(found, key=lambda t: -found[t])[:_CUTS_A_ROUND]
        return np.array(worst, np.int64).reshape(-1, 3)

    def _solved_exactly(self, deadline: Deadline) -> Answer:
        """The integer program on all sets left, by HiGHS."""
        n_sets = len(self.cost)
        if n_sets == 0:
            return Answer(self.cutoff, None)
        incidence, below, sides, _ = self._constraints(np.arange(n_sets))
        rules = [Constraint(incidence, 1.0, 1.0), Constraint(below, -np.inf, sides)]
        answer = minimized(self.cost, rules, n_sets, deadline, seconds=_SECONDS)
        bound = max(self.bound, min(answer.bound, self.cutoff))
        chosen = None if answer.x is None else self._listed(np.flatnonzero(answer.x > 0.5))
        return Answer(bound, chosen)

    def _listed(self, columns: Rows) -> list[tuple[Rows, int]]:
        starts, members = self.sets
        return [(members[starts[i] : starts[i + 1]], int(self.site[i])) for i in columns]


def _integral(x: Floats, n: int) -> bool:
    """Whether the first n values of a linear program are integers, and no client is left out."""
    return bool((np.abs(x - np.round(x)) < 1e-6).all() and x[n:].max(initial=0.0) < 0.5)


_MOST_LISTED = (1_000_000, 4_000_000)
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
        self._most_sets, self._most_gap = _MOST_LISTED[limited], np.inf
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
