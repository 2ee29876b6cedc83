"""Coverage where reach cannot be listed: some sites' reach, more of them as prices ask for it.

A linear program on some sites and cells of demand gives shares of sites and prices of demand
(`cover_prices`). The sites with shares are those that the search chooses among; what all sites
collect of the prices is the bound (`cover_bound`), and whatever collects much joins (column
generation).
"""

from __future__ import annotations

import time
from dataclasses import replace
from operator import itemgetter

import numpy as np
from scipy.sparse import csr_array, vstack

from metricdp.solvers.objectives.cover_bound import Collecting, cover_bound
from metricdp.solvers.objectives.cover_prices import cover_prices
from metricdp.solvers.objectives.cover_search import CoverSearch
from metricdp.solvers.objectives.instance import Floats, Instance, Positions
from metricdp.solvers.objectives.rows import Balls

_CELLS, _CELLS_EACH, _MOST_CELLS = 4000, 8, 8000
"""Of demand, whose points have one price: at least, for each of k, and at most. Cells at the rim of
two balls count for both in part: finer ones leave less of that."""
_SITES, _JOINED = 6000, 2000
"""In the linear program to begin with, and that join after each bound, at most."""
_SEARCHES, _ROW = (200.0, 60.0), 0.125
"""Of the whole universe for these; what a row of distances costs, where there is no graph."""
_ENTRIES = 6_000_000
"""Pairs of site and point among which sites are chosen."""
_SECONDS = 400.0
"""Of the processor, until the bound is taken as it is."""
_CLOSE, _BOUNDS, _STALLED, _VAIN = 0.01, 8, 0.001, 2
"""Gaps that are small enough, most bounds that are computed, the least that one must gain, and how
many in a row that gain less are enough: prices swing."""
_MOVES, _NEAR = 3, 8
"""Rounds of moves, and places tried for each site in a round."""


def sampled_cover(
    instance: Instance, k: int, limit: float, worth: Floats
) -> tuple[Positions, float]:
    """k sites of much coverage, and an upper bound of what any k cover."""
    end = time.process_time() + _SECONDS
    search = _Sampled(instance, k, limit, worth)
    search.price()
    value, sites = search.chosen()
    bound = float(worth.sum())
    best, vain, again = search.paid, 0, False
    for _ in range(_BOUNDS):
        if instance.deadline.over or bound <= value * (1 + _CLOSE):
            break
        start, before = time.process_time(), bound
        paid = (best + search.paid) / 2  # new prices alone swing far
        found, collected = cover_bound(instance, search.collecting, worth, paid, k, end)
        if found < bound:
            bound, best = found, paid
        instance.deadline.tell(value, bound)
        spent = time.process_time() - start
        vain = vain + 1 if bound > before * (1 - _STALLED) else 0
        if vain >= _VAIN or time.process_time() + 1.2 * spent > end:
            break
        if not search.join(collected):
            break
        search.price()
        again = True
    if again and not instance.deadline.over:
        value, sites = max((value, sites), search.chosen(), key=itemgetter(0))
    return sites, max(bound, value)


class _Sampled:
    """Some sites and what they reach of each cell of demand.

    `paid` (n_demand,): prices of the last linear program.
    """

    def __init__(self, instance: Instance, k: int, limit: float, worth: Floats) -> None:
        self.instance, self.k, self.limit, self.worth = instance, k, limit, worth
        self.rng = np.random.default_rng(instance.seed)
        self.collecting = Collecting(instance, limit, self.rng)
        self._balls = Balls(instance)
        self._whole, n = worth.sum(axis=0), len(instance.allowed)
        points = _drawn(instance, int(np.clip(_CELLS_EACH * k, _CELLS, _MOST_CELLS)), self.rng)
        label = instance.metric.symmetric.nearest_to(instance.demand[points])[0]
        self._cell = label[instance.demand]
        self._weight = np.bincount(self._cell, self._whole, len(points))
        levels = [np.bincount(self._cell, level, len(points)) for level in worth]
        self._levels = np.array(levels, np.float64)
        self._share_of_cell = (
            self._whole / np.where(self._weight > 0, self._weight, 1.0)[self._cell]
        )
        self._known = np.empty(0, np.int64)  # indices into the allowed sites, the required first
        self._reach = csr_array((0, len(points)))
        self._price, self._shares = self._weight / 2, np.empty(0)
        fixed = np.searchsorted(instance.allowed, instance.opened)
        self._fixed = np.arange(len(fixed))
        others = self.rng.choice(n, min(n, max(_SITES, 4 * k)), replace=False)
        others = np.setdiff1d(others, fixed)
        self.rng.shuffle(others)
        self._add(np.r_[fixed, others[: 2 * k]], np.inf)
        self._add(others[2 * k :], _SEARCHES[0])
        self._shares += k / len(self._known)

    def _add(self, sites: Positions, most: float) -> None:
        """Sites (indices) join, until so many searches of the whole universe are done."""
        row = 1.0 if self.instance.metric.network is not None else _ROW
        most = self._balls.searched + most / row
        parts = [self._reach]
        for site in sites.tolist():
            if self._balls.searched > most:
                break
            ball = self._balls.demand(int(self.instance.allowed[site]), self.limit)
            part = np.bincount(self._cell[ball], self._whole[ball], len(self._weight))
            parts.append(csr_array((part / np.where(self._weight > 0, self._weight, 1.0))[None]))
        count = len(parts) - 1
        self._reach = csr_array(vstack(parts, format="csr"))
        self._known = np.r_[self._known, sites[:count]]
        self._shares = np.r_[self._shares, np.zeros(count)]

    def price(self) -> None:
        """The linear program: cells covered in part by shares of k sites, level by level."""
        begin, until = (self._price, self._shares), self.instance.deadline
        found = cover_prices(self._reach, self._levels, self.k, self._fixed, begin, until)
        self._price, self._shares = found
        self.paid = self._price[self._cell] * self._share_of_cell

    def join(self, collected: Floats) -> bool:
        """Sites that collect more than the program's join: the most, and some of the rest; whether
        there are any.
        """
        known = self._reach @ self._price
        over = np.flatnonzero(collected > np.partition(known, -self.k)[-self.k])
        order = over[np.argsort(-collected[over], kind="stable")]
        rest = order[_JOINED // 2 :]
        some = self.rng.choice(rest, min(len(rest), _JOINED // 2), replace=False)
        new = np.r_[order[: _JOINED // 2], some]
        new = new[~np.isin(new, self._known)]
        self._add(self.rng.permutation(new), _SEARCHES[1])
        return len(new) > 0

    def chosen(self) -> tuple[float, Positions]:
        """What good sites cover, and their positions."""
        instance = self.instance
        order = np.argsort(-self._shares, kind="stable")
        order = np.r_[self._fixed, order[order >= len(self._fixed)]]
        balls, picked, entries = list[Positions](), list[int](), 0
        for i in order.tolist():
            ball = self._balls.demand(int(instance.allowed[self._known[i]]), self.limit)
            entries += len(ball)
            if entries > _ENTRIES and len(picked) >= self.k:
                break
            picked.append(int(self._known[i]))
            balls.append(ball)
        rank = np.argsort(picked)
        thin = replace(instance, allowed=instance.allowed[np.array(picked)[rank]])
        columns = [balls[i] for i in rank]
        starts = np.r_[0, np.cumsum([len(ball) for ball in columns])]
        members = np.concatenate(columns)
        shape = (len(columns), len(instance.demand))
        reach = csr_array((np.ones(len(members), np.float32), members, starts), shape=shape)
        cover = CoverSearch(thin, reach, self.worth, self.k)
        sites = thin.allowed[cover.search()]
        return _moved(instance, sites, self.limit, self.worth, self.rng)


def _drawn(instance: Instance, most: int, rng: np.random.Generator) -> Positions:
    """Indices of different demand points, drawn by weight; at most so many."""
    weight = instance.weight
    drawn = rng.choice(len(weight), most, p=weight / weight.sum())
    return np.unique(drawn).astype(np.int64)


def _moved(
    instance: Instance, sites: Positions, limit: float, worth: Floats, rng: np.random.Generator
) -> tuple[float, Positions]:
    """Move sites, one at a time, to the best of some places nearby; what they cover then."""
    sites, fixed = np.array(sites), set(instance.opened.tolist())
    table = np.vstack([worth, np.zeros((1, worth.shape[1]))])
    columns, last = np.arange(worth.shape[1]), len(worth)
    balls_of = Balls(instance)
    balls = [balls_of.demand(int(site), limit) for site in sites]
    count = np.zeros(worth.shape[1], np.int64)
    for ball in balls:
        count[ball] += 1
    for size in range(_MOVES):
        for i, site in enumerate(sites.tolist()):
            if site in fixed or instance.deadline.over:
                continue
            count[balls[i]] -= 1
            gain = table[np.minimum(count, last), columns]
            best, most = balls[i], float(gain[balls[i]].sum())
            for place in _places(instance, balls_of(site, limit / 4 ** (size + 1))[0], sites, rng):
                ball = balls_of.demand(place, limit)
                total = float(gain[ball].sum())
                if total > most:
                    best, most, sites[i] = ball, total, place
            balls[i] = best
            count[best] += 1
    return float(sum(level @ (count > t) for t, level in enumerate(worth))), sites


def _places(
    instance: Instance, near: Positions, taken: Positions, rng: np.random.Generator
) -> list[int]:
    """Some of these positions where a site may stand, none of them taken."""
    if instance.metric.sites is not instance.metric.ids:  # points are no sites: any place will do
        near = instance.allowed
    inside = np.zeros(len(instance.metric.sites), bool)
    inside[near] = True
    free = np.zeros(len(inside), bool)
    free[instance.allowed] = True
    free[taken] = False
    near = np.flatnonzero(inside & free)
    return [int(v) for v in rng.choice(near, min(_NEAR, len(near)), replace=False)]
