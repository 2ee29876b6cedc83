"""Maximum coverage where the pairs within the limit are too many to list: column generation.

A linear program on some of the sites and on cells of demand gives shares of sites and prices of
demand (`cover_prices`). The search chooses among the sites with shares; what all sites collect of
the prices gives the bound (`cover_bound`), and sites that collect much join the program.
"""

import time
from dataclasses import replace
from operator import itemgetter

import numpy as np
from scipy.sparse import csr_array, vstack

from metricdp.solvers.objectives.cover_bound import PriceSums, cover_bound, cover_prices
from metricdp.solvers.objectives.cover_search import CoverSearch
from metricdp.solvers.objectives.instance import Floats, Instance, Positions
from metricdp.solvers.objectives.reach import Balls

_CELLS, _CELLS_EACH, _MOST_CELLS = 4000, 8, 8000
"""Cells of demand, whose points share one price: at least, for each of k, and at most. A cell at
the rim of a ball counts in part: finer cells leave less of that.
"""
_SITES, _SITES_A_ROUND = 6000, 2000
"""Sites in the linear program at first, and most that join after each bound."""
_SEARCHES, _ROW = (200.0, 60.0), 0.125
"""Searches of the whole universe for these; what a row of distances counts, without a graph."""
_MOST_ENTRIES = 6_000_000
"""Pairs of site and point among which the search chooses."""
_SECONDS = 400.0
"""Processor time after which no bound is begun."""
_CLOSE, _BOUNDS, _LEAST_GAIN, _MOST_STALLED = 0.01, 8, 0.001, 2
"""Gap that is small enough; most bounds; least relative gain of one; how many in a row may gain
less: prices oscillate.
"""
_MOVE_ROUNDS, _PLACES_TRIED = 3, 8
"""Rounds of moves, and places tried for each site in a round."""


def sampled_cover(
    instance: Instance, k: int, limit: float, worth: Floats
) -> tuple[Positions, float]:
    """k sites of large coverage, and an upper bound of what any k sites cover."""
    end = time.process_time() + _SECONDS
    search = _ColumnGeneration(instance, k, limit, worth)
    search.solve_relaxation()
    value, sites = search.best_sites()
    bound = float(worth.sum())
    best, stalled, extended = search.prices, 0, False
    for _ in range(_BOUNDS):
        if instance.deadline.over or bound <= value * (1 + _CLOSE):
            break
        start, before = time.process_time(), bound
        prices = (best + search.prices) / 2  # new prices alone oscillate
        found, collected = cover_bound(instance, search.price_sums, worth, prices, k, end)
        if found < bound:
            bound, best = found, prices
        instance.deadline.tell(value, bound)
        spent = time.process_time() - start
        stalled = stalled + 1 if bound > before * (1 - _LEAST_GAIN) else 0
        if stalled >= _MOST_STALLED or time.process_time() + 1.2 * spent > end:
            break
        if not search.add_columns(collected):
            break
        search.solve_relaxation()
        extended = True
    if extended and not instance.deadline.over:
        value, sites = max((value, sites), search.best_sites(), key=itemgetter(0))
    return sites, max(bound, value)


class _ColumnGeneration:
    """Some of the sites (columns), and the part of each cell of demand that they reach.

    `prices` (n_demand,): of the last linear program.
    """

    def __init__(self, instance: Instance, k: int, limit: float, worth: Floats) -> None:
        self.instance, self.k, self.limit, self.worth = instance, k, limit, worth
        self.rng = np.random.default_rng(instance.seed)
        self.price_sums = PriceSums(instance, limit, self.rng)
        self._balls = Balls(instance)
        self._whole, n = worth.sum(axis=0), len(instance.allowed)
        points = _draw_clients(
            instance, int(np.clip(_CELLS_EACH * k, _CELLS, _MOST_CELLS)), self.rng
        )
        label = instance.metric.symmetric.nearest_to(instance.demand[points])[0]
        self._cell = label[instance.demand]
        self._weight = np.bincount(self._cell, self._whole, len(points))
        levels = [np.bincount(self._cell, level, len(points)) for level in worth]
        self._levels = np.array(levels, np.float64)
        self._share_of_cell = (
            self._whole / np.where(self._weight > 0, self._weight, 1.0)[self._cell]
        )
        self._sites = np.empty(0, np.int64)  # indices into the allowed sites, the required first
        self._reach = csr_array((0, len(points)))
        self._price, self._shares = self._weight / 2, np.empty(0)
        fixed = np.searchsorted(instance.allowed, instance.opened)
        self._fixed = np.arange(len(fixed))
        others = self.rng.choice(n, min(n, max(_SITES, 4 * k)), replace=False)
        others = np.setdiff1d(others, fixed)
        self.rng.shuffle(others)
        self._add_sites(np.r_[fixed, others[: 2 * k]], np.inf)
        self._add_sites(others[2 * k :], _SEARCHES[0])
        self._shares += k / len(self._sites)

    def _add_sites(self, sites: Positions, budget: float) -> None:
        """Add sites (indices) as columns, within so many searches of the universe."""
        row = 1.0 if self.instance.metric.network is not None else _ROW
        budget = self._balls.searched + budget / row
        parts = [self._reach]
        for site in sites.tolist():
            if self._balls.searched > budget:
                break
            ball = self._balls.demand(int(self.instance.allowed[site]), self.limit)
            part = np.bincount(self._cell[ball], self._whole[ball], len(self._weight))
            parts.append(csr_array((part / np.where(self._weight > 0, self._weight, 1.0))[None]))
        count = len(parts) - 1
        self._reach = csr_array(vstack(parts, format="csr"))
        self._sites = np.r_[self._sites, sites[:count]]
        self._shares = np.r_[self._shares, np.zeros(count)]

    def solve_relaxation(self) -> None:
        """The linear program: shares of k sites cover parts of cells, level by level."""
        begin, until = (self._price, self._shares), self.instance.deadline
        found = cover_prices(self._reach, self._levels, self.k, self._fixed, begin, until)
        self._price, self._shares = found
        self.prices = self._price[self._cell] * self._share_of_cell

    def add_columns(self, collected: Floats) -> bool:
        """Add sites that collect more than those of the program: the most, and some of the rest.
        Returns whether there are any.
        """
        known = self._reach @ self._price
        over = np.flatnonzero(collected > np.partition(known, -self.k)[-self.k])
        order = over[np.argsort(-collected[over], kind="stable")]
        rest = order[_SITES_A_ROUND // 2 :]
        some = self.rng.choice(rest, min(len(rest), _SITES_A_ROUND // 2), replace=False)
        new = np.r_[order[: _SITES_A_ROUND // 2], some]
        new = new[~np.isin(new, self._sites)]
        self._add_sites(self.rng.permutation(new), _SEARCHES[1])
        return len(new) > 0

    def best_sites(self) -> tuple[float, Positions]:
        """Coverage and positions of sites found among those of large share."""
        instance = self.instance
        order = np.argsort(-self._shares, kind="stable")
        order = np.r_[self._fixed, order[order >= len(self._fixed)]]
        balls, picked, entries = list[Positions](), list[int](), 0
        for i in order.tolist():
            ball = self._balls.demand(int(instance.allowed[self._sites[i]]), self.limit)
            entries += len(ball)
            if entries > _MOST_ENTRIES and len(picked) >= self.k:
                break
            picked.append(int(self._sites[i]))
            balls.append(ball)
        rank = np.argsort(picked)
        narrowed = replace(instance, allowed=instance.allowed[np.array(picked)[rank]])
        columns = [balls[i] for i in rank]
        starts = np.r_[0, np.cumsum([len(ball) for ball in columns])]
        members = np.concatenate(columns)
        shape = (len(columns), len(instance.demand))
        reach = csr_array((np.ones(len(members), np.float32), members, starts), shape=shape)
        cover = CoverSearch(narrowed, reach, self.worth, self.k)
        sites = narrowed.allowed[cover.search()]
        return _move_sites(instance, sites, self.limit, self.worth, self.rng)


def _draw_clients(instance: Instance, most: int, rng: np.random.Generator) -> Positions:
    """Indices of at most so many distinct demand points, drawn by weight."""
    weight = instance.weight
    drawn = rng.choice(len(weight), most, p=weight / weight.sum())
    return np.unique(drawn).astype(np.int64)


def _move_sites(
    instance: Instance, sites: Positions, limit: float, worth: Floats, rng: np.random.Generator
) -> tuple[float, Positions]:
    """Move sites, one at a time, to the best of some places nearby; coverage and sites."""
    sites, fixed = np.array(sites), set(instance.opened.tolist())
    table = np.vstack([worth, np.zeros((1, worth.shape[1]))])
    columns, last = np.arange(worth.shape[1]), len(worth)
    balls_of = Balls(instance)
    balls = [balls_of.demand(int(site), limit) for site in sites]
    count = np.zeros(worth.shape[1], np.int64)
    for ball in balls:
        count[ball] += 1
    for size in range(_MOVE_ROUNDS):
        for i, site in enumerate(sites.tolist()):
            if site in fixed or instance.deadline.over:
                continue
            count[balls[i]] -= 1
            gain = table[np.minimum(count, last), columns]
            best, most = balls[i], float(gain[balls[i]].sum())
            for place in _places_near(
                instance, balls_of(site, limit / 4 ** (size + 1))[0], sites, rng
            ):
                ball = balls_of.demand(place, limit)
                total = float(gain[ball].sum())
                if total > most:
                    best, most, sites[i] = ball, total, place
            balls[i] = best
            count[best] += 1
    return float(sum(level @ (count > t) for t, level in enumerate(worth))), sites


def _places_near(
    instance: Instance, near: Positions, taken: Positions, rng: np.random.Generator
) -> list[int]:
    """Some of these positions where a site may stand and none is."""
    # In a table positions of points tell nothing about sites.
    if instance.metric.sites is not instance.metric.ids:
        near = instance.allowed
    inside = np.zeros(len(instance.metric.sites), bool)
    inside[near] = True
    free = np.zeros(len(inside), bool)
    free[instance.allowed] = True
    free[taken] = False
    near = np.flatnonzero(inside & free)
    return [int(v) for v in rng.choice(near, min(_PLACES_TRIED, len(near)), replace=False)]
