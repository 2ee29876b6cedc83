"""Facility location: opening sites costs, and how many open is part of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from metricdp.arguments import Bools, Ints
from metricdp.errors import InputError
from metricdp.kernels.dual_ascent import Entries, cheapest
from metricdp.kernels.near_swaps import transposed
from metricdp.kernels.opening import NearSites, branches, open_and_close, search_branches
from metricdp.options import Weights
from metricdp.solvers import kmedian
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.objectives.instance import Chosen, Floats, Instance, Positions
from metricdp.solvers.objectives.objective import Objective, per_site
from metricdp.solvers.programs import TRUST, CheapestRows, answered, exchanged
from metricdp.solvers.stopping import Deadline

_STARTS = 12
_START_ENTRIES = 40_000_000
"""Random starts; fewer on large blocks."""
_COVER_LIMITS = 100_000, 200_000_000
"""Most steps of the set-cover search for one site fewer, and most updates of its scores: half a
second. The steps end it where sites cover few clients (100 sites, ten each), the updates where they
cover most.
"""
_STEPS, _PATIENCE = 1200, 25
_WIDE_GAP, _SMALL_GAP = 0.05, 0.01
"""From this gap on branch and bound comes before HiGHS, which seldom closes it; smaller ones than
the second are then left.
"""
_BRANCH_WORK, _BRANCHES_A_CHECK = 10_000_000_000, 100_000
"""Pairs of site and client times branches: some ten seconds; branches between checks of the
time.
"""
_PROGRAM_PAIRS = 100_000
"""Most pairs of a site that may still open and a client it may serve, for which HiGHS is asked:
82,000 are proven in 5 s; with 158,000 it takes twice its time limit, with 218,000 five times.
"""
_COARSE = 1500
"""Places and clients of the sampled instance in large universes."""
_EQUAL = 1e-9  # above rounding of sums, below any real gain
_SECONDS = 60.0  # an integer program's, before its bound has to do


@dataclass(frozen=True)
class FacilityLocation(Objective):
    """Sites of least sum of weight × distance and opening costs: *uncapacitated facility location*.

    Parameters
    ----------
    costs : number, mapping from id to number, or array_like of shape (n_points,)
        What opening each place costs, in units of weight × distance; not negative.

    Notes
    -----
    Required sites cost what they cost, too. On a block of all costs up to 20 million: local search
    over openings, closings and exchanges, from covers of fewer sites too; a Lagrangian bound (as in
    `metricdp.solvers.bounds`) that also settles most sites; where it is far off, branches
    (`metricdp.kernels.opening`); HiGHS on the rest. Beyond: the same for some 1,500 places
    and the demand around each, and, where all places cost the same, k-median from there at full
    resolution; without a bound.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.FacilityLocation(costs=3))
    >>> sorted(plan.centers), plan.value, plan.gap
    ([1, 4, 7], 15.0, 0.0)
    """

    name: ClassVar[str] = "facility-location"
    arcgis: ClassVar[str] = "none (Minimize Weighted Impedance does not weigh opening costs)"
    spopt: ClassVar[str] = "none (PMedian with opening costs in place of p)"

    costs: Weights

    def __post_init__(self) -> None:
        if isinstance(self.costs, str | bytes | bool):
            raise InputError(f"costs must be numbers, got {self.costs!r}")

    def check(self, instance: Instance) -> None:
        """See `Objective`."""
        per_site(self.costs, instance, "costs")

    def choose(self, instance: Instance) -> Chosen:
        """See the class's notes."""
        prices = per_site(self.costs, instance, "costs")
        if not instance.fits:
            return self._choose_coarsely(instance, prices)
        fixed = np.searchsorted(instance.allowed, instance.opened)
        search = OpeningSearch(instance.block() * instance.weight, prices, fixed, instance)
        search.run()
        sites = instance.required_first(instance.allowed[search.best])
        value = self.judge(instance, sites).value
        lower = value if search.lower >= search.upper * (1 - _EQUAL) else search.lower
        return Chosen(sites, value, min(lower, value))

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """See `Objective`."""
        everywhere = Instance(
            instance.metric, instance.weights, np.union1d(instance.allowed, sites)
        )
        prices = per_site(self.costs, everywhere, "costs")
        price = float(prices[np.searchsorted(everywhere.allowed, sites)].sum())
        return Chosen(sites, float(instance.weight @ instance.nearest(sites)[1]) + price)

    def _choose_coarsely(self, instance: Instance, prices: Floats) -> Chosen:
        metric, rng = instance.metric, np.random.default_rng(instance.seed)
        size = min(_COARSE, len(instance.allowed))
        places = np.union1d(
            instance.allowed[rng.choice(len(instance.allowed), size, replace=False)],
            instance.opened,
        )
        price = prices[np.searchsorted(instance.allowed, places)]
        if metric.sites is metric.ids:
            weight: Floats = np.zeros(len(places))
            np.add.at(weight, instance.nearest(places)[0], instance.weight)
            clients, weight = places[weight > 0], weight[weight > 0]
        else:  # a table's sites are no clients: clients are sampled
            some = rng.permutation(len(instance.demand))[:_COARSE]
            clients, weight = instance.demand[some], instance.weight[some]
            weight = weight * (instance.weight.sum() / weight.sum())
        block = instance.block(places, clients) * weight
        search = OpeningSearch(block, price, np.searchsorted(places, instance.opened), instance)
        search.search()
        sites = places[search.best]
        if np.ptp(prices) == 0:
            sites = kmedian.solve(
                metric,
                instance.demand_weights,
                len(sites),
                candidates=instance.allowed,
                opened=instance.opened,
                seed=instance.seed,
                first=sites,
            ).centers
        return self.judge(instance, instance.required_first(sites))


class _Ascent(Ascent):
    """Dual ascent where row i costs ``prices[i]`` to open, and any number may be open."""

    prices: Floats

    def _evaluate(
        self, multipliers: Floats, rows: Ints | None = None
    ) -> tuple[float, Floats, Ints]:
        worth = self.reduced(multipliers, rows) + self.prices
        chosen = np.flatnonzero(self.required | (worth < 0))
        total, gain = float(multipliers.sum()), float(worth[chosen].sum())
        size = total + float(self.prices.sum()) - float(np.minimum(worth, 0.0).sum())
        error = (len(multipliers) + len(worth) + 4) * np.finfo(float).eps * size
        return total + gain - error, worth, chosen

    def shrink(self) -> None:
        """Fix rows that must be open, drop rows that must be closed."""
        value, worth, _ = self._evaluate(self.best)
        self.required |= value - worth > self.upper
        kept = self.required | (value + worth <= self.upper)
        self.prices = self.prices[kept]
        self.keep(kept)


class OpeningSearch:
    """Facility location on a block of weighted costs, with opening costs `prices`.

    `best`: rows of the best sites; `upper`, `lower`: their cost, and a bound of all choices.
    """

    def __init__(self, costs: Floats, prices: Floats, fixed: Ints, instance: Instance) -> None:
        self.costs, self.prices, self.fixed = np.ascontiguousarray(costs), prices, fixed
        self.deadline, self.rng = instance.deadline, np.random.default_rng(instance.seed)
        self.best, self.upper, self.lower = fixed, np.inf, 0.0

    def run(self) -> None:
        """Local search, dual ascent, then branch and bound or HiGHS on what is left."""
        self.search()
        entries = self._dual_ascent()
        wide_gap = self.lower < self.upper * (1 - _WIDE_GAP)
        if wide_gap:
            self._branch_and_bound(entries)
        good_enough = self.upper * (1 - (_SMALL_GAP if wide_gap else _EQUAL))
        if self.lower < good_enough and not self.deadline.over:
            self._integer_program(entries)

    def search(self) -> None:
        """Local search from one site, from random ones, and from set covers with one site fewer."""
        m = len(self.prices)
        alone = np.zeros(m, bool)
        alone[int(np.argmin(self.costs.sum(axis=1) + self.prices))] = True
        self._descend(alone)
        many = _START_ENTRIES // self.costs.size
        for _ in range(int(np.clip(many, 1, _STARTS))):
            if self.deadline.over:
                break
            self._descend(self.rng.random(m) < max(2 * len(self.best), 2) / m)
        before = np.inf
        while self.upper < before and not self.deadline.over:
            before = self.upper
            self._drop_a_site()

    def _drop_a_site(self) -> None:
        """Local search from a set cover with one site fewer, where a site covers the clients it
        serves at no more than a place of their own would cost. Swaps alone do not get there where
        most service is far too dear.
        """
        near = self.costs <= (self.costs + self.prices[:, None]).min(axis=0)
        others = np.flatnonzero(~near[self.fixed].any(axis=0))
        chosen = np.setdiff1d(self.best, self.fixed)[:-1]
        if len(chosen) == 0 or len(others) == 0:
            return
        if exchanged(csr_array(near[:, others].T), chosen, _COVER_LIMITS):
            is_open = np.zeros(len(self.prices), bool)
            is_open[chosen] = True
            self._descend(is_open)

    def _descend(self, is_open: Bools) -> None:
        is_open[self.fixed] = True
        if not is_open.any():
            is_open[0] = True
        may_close = ~np.isin(np.arange(len(is_open)), self.fixed)
        order = self.rng.permutation(len(is_open))
        scale = self.upper if np.isfinite(self.upper) else float(self.costs.max() + 1)
        cost = open_and_close(
            self.costs, self.prices, is_open, may_close, order, 1e-12 * abs(scale)
        )
        if cost < self.upper * (1 - 1e-12):
            self.best, self.upper = np.flatnonzero(is_open), float(cost)

    def _dual_ascent(self) -> Entries:
        """Raise the Lagrangian bound of solutions in which no client costs more than a place of its
        own, as optimal ones do; fix and drop rows. Returns the costs left.
        """
        most = (self.costs + self.prices[:, None]).min(axis=0)
        near = self.costs <= most * (1 + _EQUAL)
        client = np.nonzero(near)[1]
        start = np.r_[0, np.cumsum(near.sum(axis=1))]
        ascent = _Ascent(
            Entries(start, client.astype(np.int32), self.costs[near]),
            np.full(near.shape[1], np.inf),
            len(self.best),
            self.upper,
            self.fixed,
            False,
            self.deadline,
        )
        ascent.prices = self.prices
        served = np.sort(self.costs[self.best], axis=0)
        ascent.climb(served[min(1, len(served) - 1)], _STEPS, patience=_PATIENCE)
        ascent.shrink()
        self.lower = max(self.lower, min(ascent.bound, self.upper))
        self.rows, self.required = ascent.rows, ascent.required
        return ascent.entries

    def _branch_and_bound(self, entries: Entries) -> None:
        """Prove higher and higher lower bounds, as long as the work allows."""
        back, site, cost = transposed(*entries, self.costs.shape[1])
        if (np.diff(back) == 0).any():
            self.lower = self.upper  # dropped rows are in no better solution
            return
        near = NearSites(entries.start, entries.client, back, site, cost, self.prices[self.rows])
        least = np.minimum.reduceat(cost, back[:-1])
        most = float(np.maximum.reduceat(cost, back[:-1]).sum())
        exactly = 1 - (self.costs.shape[1] + len(self.rows) + 4) * np.finfo(float).eps
        left = _BRANCH_WORK // len(cost)
        while self.lower < self.upper * (1 - _EQUAL):
            target, proven = self._next_target(float(least.sum()), most)
            state = branches(near, np.flatnonzero(self.required))
            while state.at[0] >= 0 and left > 0 and not self.deadline.over:
                left -= search_branches(near, state, least, target, _BRANCHES_A_CHECK)
                self.deadline.tell(self.upper, self.lower)
            if state.found[1] < self.upper * (1 - 1e-12):
                self.best, self.upper = self.rows[state.best], float(state.found[1])
            if state.at[0] >= 0:
                break
            lowest = float(state.found[0])
            before, lower = self.lower, proven if lowest >= target else lowest
            self.lower = max(before, min(lower * exactly, self.upper))
            if lowest < target or self.lower == before:  # no progress within rounding
                break

    def _next_target(self, least: float, most: float) -> tuple[float, float]:
        """The next lower bound to prove, and what holds if no branch is below it. With equal prices
        the next number of sites; service costs between `least` and `most` in all.
        """
        price = float(self.prices.max())
        if np.ptp(self.prices) == 0 and most < price:
            number = np.ceil((self.lower - most) / price - _EQUAL)
            target = number * price + most * (1 + _EQUAL) + price * _EQUAL
            proven = max(target, (number + 1) * price + least)
        else:
            target = proven = self.lower + max((self.upper - self.lower) / 4, 0.01 * self.upper)
        return (target, proven) if proven < self.upper else (self.upper, self.upper)

    def _integer_program(self, entries: Entries) -> None:
        """HiGHS on the rows left; required rows serve at their cheapest cost."""
        own, required, free = self.prices[self.rows], self.required, np.flatnonzero(~self.required)
        safe = np.full(self.costs.shape[1], np.inf)
        cheapest(entries, np.flatnonzero(required), safe)
        entries = entries.among(free, safe, np.zeros(len(free)))
        if len(entries.cost) > _PROGRAM_PAIRS:
            return
        paid, none = float(own[required].sum()), np.zeros(len(free), bool)
        question = CheapestRows(
            entries, safe, none, 0, len(free), self.upper - paid, price=own[free]
        )
        chosen, bound = None, float(safe.sum())
        if len(entries.cost):
            with Deadline(min(_SECONDS, max(self.deadline.left, 0.0))) as limit:
                chosen, bound = answered(question, limit)
        elif required.any():
            chosen = free[:0]
        if chosen is not None:
            sites = np.union1d(self.rows[required], self.rows[free[chosen]])
            cost = float(self.costs[sites].min(axis=0).sum() + self.prices[sites].sum())
            if cost < self.upper * (1 - 1e-12):
                self.best, self.upper = sites, cost
        settled = bound + paid >= self.upper * (1 - 2 * TRUST)
        self.lower = max(self.lower, self.upper if settled else min(bound + paid, self.upper))
