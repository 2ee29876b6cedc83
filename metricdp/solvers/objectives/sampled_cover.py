"""Coverage where reach cannot be listed: some sites' reach, more of them as prices ask for it.

A linear program on some sites and cells of demand gives shares of sites and prices of demand. The
sites with shares are those that the search chooses among; whatever collects much of the prices
joins (column generation), and what all sites collect is the bound (`cover_bound`).
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, vstack

from metricdp.solvers.objectives.cover_bound import Collecting, cover_bound
from metricdp.solvers.objectives.cover_search import CoverSearch
from metricdp.solvers.objectives.instance import Floats, Instance, Positions
from metricdp.solvers.objectives.rows import Around

_CELLS, _CELLS_EACH, _MOST_CELLS = 2000, 8, 4000
"""Of demand, whose points have one price: at least, for each of k, and at most."""
_SITES, _FEWEST, _JOINED = 4000, 600, 300
"""In the linear program to begin with, at least, and that join after each, at most."""
_SEARCHES, _ROW, _GROUP_COSTS = 120.0, 0.125, 6.0
"""Of the whole universe: to begin with, and in all rounds; what a row of distances costs, where
there is no graph, and the sums of a group beside one search around a site.
"""
_ROUNDS, _LOOKED, _LEAST_LOOKED = 4, 0.05, 100
"""Times that the most promising groups of sites are looked at; the part of them, and at least."""
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
    for _ in range(_ROUNDS):
        if instance.deadline.over:
            break
        search.price()
        search.look()
    search.price()
    sites, value, bound = search.chosen()
    best, vain = search.paid, 0
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
        search.join(collected)
        search.price()
    return sites, max(bound, value)


class _Sampled:
    """Some sites and what they reach of each cell of demand.

    `paid` (n_demand,): prices of the last linear program.
    """

    def __init__(self, instance: Instance, k: int, limit: float, worth: Floats) -> None:
        self.instance, self.k, self.limit, self.worth = instance, k, limit, worth
        self.rng = np.random.default_rng(instance.seed)
        self.collecting = Collecting(instance, limit, self.rng)
        self._around = Around(instance)
        whole = worth.sum(axis=0)
        points = _drawn(instance, int(np.clip(_CELLS_EACH * k, _CELLS, _MOST_CELLS)), self.rng)
        label = instance.metric.symmetric.nearest_to(instance.demand[points])[0]
        self._cell = label[instance.demand]
        self._mass = np.bincount(self._cell, whole, len(points))
        levels = [np.bincount(self._cell, level, len(points)) for level in worth]
        self._levels = np.array(levels, np.float64)
        self._share_of_cell = whole / np.where(self._mass > 0, self._mass, 1.0)[self._cell]
        self._known = np.empty(0, np.int64)  # indices into the allowed sites
        self._reach: list[csr_array] = []
        n = len(instance.allowed)
        others = self.rng.choice(n, min(n, max(_FEWEST, 4 * k)), replace=False)
        self._add(np.r_[self._fixed, others[: 2 * k]], np.inf)
        middles = self.rng.permutation(self.collecting.middles)[:_SITES]
        self._add(np.r_[middles, others], _SEARCHES)
        self.paid, self._price = np.zeros(len(whole)), np.zeros(len(points))
        self._shares = np.zeros(len(self._known))

    def _add(self, sites: Positions, most: float) -> None:
        """Sites (indices) join, until so many searches of the whole universe are done."""
        whole = self.worth.sum(axis=0)
        most += self._searched
        for site in dict.fromkeys(sites[~np.isin(sites, self._known)].tolist()):
            if self._searched > most:
                break
            ball = self._around.demand(int(self.instance.allowed[site]), self.limit)
            part = np.bincount(self._cell[ball], whole[ball], len(self._mass))
            self._reach.append(csr_array((part / np.maximum(self._mass, 1e-300))[None]))
            self._known = np.append(self._known, site)

    @property
    def _searched(self) -> float:
        """Searches of the whole universe so far, or rows by what they cost beside one."""
        row = 1.0 if self.instance.metric.network is not None else _ROW
        return self._around.searched * row

    def price(self) -> None:
        """The linear program: cells covered in part by shares of k sites, level by level."""
        from scipy.optimize import linprog

        n_levels, n_cells = self._levels.shape
        reach = vstack(self._reach, format="csr")
        levels = hstack([diags_array(np.ones(n_cells))] * n_levels)
        covered = hstack([-reach.T, levels])
        count = csr_array(np.r_[np.ones(reach.shape[0]), np.zeros(n_levels * n_cells)][None])
        least = np.isin(self._known, self._fixed).astype(float)
        bounds = np.c_[np.r_[least, np.zeros(n_levels * n_cells)], np.ones(covered.shape[1])]
        found = linprog(
            -np.r_[np.zeros(reach.shape[0]), self._levels.ravel()],
            A_ub=vstack([covered, count], format="csr"),
            b_ub=np.r_[np.zeros(n_cells), float(self.k)],
            bounds=bounds,
            method="highs",
        )
        if found.status == 0:
            self._price = np.maximum(-found.ineqlin.marginals[:n_cells], 0.0)
            self.paid = self._price[self._cell] * self._share_of_cell
            self._shares = found.x[: reach.shape[0]]

    @property
    def _fixed(self) -> Positions:
        return np.searchsorted(self.instance.allowed, self.instance.opened)

    def look(self) -> None:
        """Of groups with sites that collect much of the prices those that collect most join."""
        groups = self.collecting.groups
        promise = np.zeros(len(groups))
        known = vstack(self._reach, format="csr") @ self._price
        np.maximum.at(promise, self.collecting.group[self._known], known)
        few = min(len(groups), max(int(_LOOKED * len(groups)), _LEAST_LOOKED))
        one = self._searched / len(self._known) * _GROUP_COSTS
        few = max(1, min(few, int(_SEARCHES / (one * _ROUNDS))))
        which = np.argsort(-promise, kind="stable")[:few]
        found = self.collecting.each(which, self.paid)
        collected = np.full(len(self.instance.allowed), -1.0)
        for g, sums in zip(which, found):
            collected[groups[g]] = sums
        self.join(collected)

    def join(self, collected: Floats) -> None:
        """The sites that collect most join, a few of every group at most."""
        each = max(_JOINED // len(self.collecting.groups), 1)
        best = [g[np.argsort(-collected[g])[:each]] for g in self.collecting.groups]
        sites = np.concatenate(best)
        self._add(sites[np.argsort(-collected[sites])[:_JOINED]], _SEARCHES / _ROUNDS)

    def chosen(self) -> tuple[Positions, float, float]:
        """Good sites (positions), what they cover, and a first bound."""
        instance = self.instance
        order = np.argsort(-self._shares - np.isin(self._known, self._fixed), kind="stable")
        balls, picked, entries = list[Positions](), list[int](), 0
        for i in order.tolist():
            ball = self._around.demand(int(instance.allowed[self._known[i]]), self.limit)
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
        sites = _moved(instance, sites, self.limit, self.worth, self.rng)
        value = _value(instance, sites, self.limit, self.worth)
        return sites, value, float(self.worth.sum())


def _drawn(instance: Instance, most: int, rng: np.random.Generator) -> Positions:
    """Indices of different demand points, drawn by weight; at most so many."""
    mass = instance.mass
    drawn = rng.choice(len(mass), most, p=mass / mass.sum())
    return np.unique(drawn).astype(np.int64)


def _value(instance: Instance, sites: Positions, limit: float, worth: Floats) -> float:
    count, around = np.zeros(len(instance.demand), np.int64), Around(instance)
    for site in sites:
        count[around.demand(int(site), limit)] += 1
    return float(sum(level @ (count > t) for t, level in enumerate(worth)))


def _moved(
    instance: Instance, sites: Positions, limit: float, worth: Floats, rng: np.random.Generator
) -> Positions:
    """Move sites, one at a time, to the best of some places nearby."""
    sites, fixed = np.array(sites), set(instance.opened.tolist())
    table = np.vstack([worth, np.zeros((1, worth.shape[1]))])
    columns, last = np.arange(worth.shape[1]), len(worth)
    around = Around(instance)
    balls = [around.demand(int(site), limit) for site in sites]
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
            for place in _places(instance, around(site, limit / 4 ** (size + 1))[0], sites, rng):
                ball = around.demand(place, limit)
                total = float(gain[ball].sum())
                if total > most:
                    best, most, sites[i] = ball, total, place
            balls[i] = best
            count[best] += 1
    return sites


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
