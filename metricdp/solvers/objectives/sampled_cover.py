"""Coverage where reach cannot be listed, by demand points drawn by weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from metricdp.solvers.objectives.cover_bound import cover_bound
from metricdp.solvers.objectives.cover_search import CoverSearch
from metricdp.solvers.objectives.instance import Floats, Instance, Positions
from metricdp.solvers.objectives.rows import ReachLists, Territories

_CHOOSING, _BOUNDING = 35.0, 44.0
"""Searches of the whole universe for the choice of sites, and for the bound."""
_MOST = (4000, 20_000)
"""Points drawn for each at most."""
_ENTRIES = 4_000_000
"""Pairs of place and point among which sites are chosen."""
_ROWS = 0.125
"""What a row of distances costs, where there is no graph, in searches of one."""
_ROUNDS, _NEAR = 3, 8
"""Rounds of moves, and places tried for each site in a round."""


def sampled_cover(
    instance: Instance, k: int, limit: float, worth: Floats
) -> tuple[Positions, float]:
    """k sites of much coverage, and an upper bound of what any k cover."""
    rng = np.random.default_rng(instance.seed)
    drawn = _drawn(instance, max(_MOST), rng)
    share = _searched_by_one(instance, drawn, limit)
    sizes = [int(min(_CHOOSING / share, _MOST[0])), int(min(_BOUNDING / share, _MOST[1]))]
    points = instance.demand[drawn[: max(sizes[0], 8)]]
    label, _ = instance.metric.symmetric.nearest_to(points)
    label = label[instance.demand]
    cover, places = _choice(instance, points, label, limit, worth, k, rng)
    chosen = cover.search()
    price = cover.prices(cover.value(chosen))[label]
    sites = _moved(instance, places[chosen], limit, worth, rng)
    value = _value(instance, sites, limit, worth)
    more = instance.demand[drawn[: max(sizes[1], 8)]]
    return sites, max(cover_bound(instance, more, limit, worth, price, k), value)


def _drawn(instance: Instance, most: int, rng: np.random.Generator) -> Positions:
    """Indices of different demand points, drawn by weight; at most so many."""
    order = rng.permutation(len(instance.demand))
    chance = np.cumsum(instance.mass[order])
    hits = rng.random(most) * chance[-1]
    drawn = order[np.minimum(np.searchsorted(chance, hits, side="right"), len(order) - 1)]
    return drawn[np.sort(np.unique(drawn, return_index=True)[1])].astype(np.int64)


def _searched_by_one(instance: Instance, drawn: Positions, limit: float) -> float:
    """What looking around one point costs, in searches of the whole universe."""
    if instance.metric.network is None:
        return _ROWS
    lists = ReachLists(instance, instance.demand[drawn[:8]])
    lists.radius = limit
    for i in range(len(lists.clients)):
        lists.near(i)
    return max(lists.searched / len(lists.clients), 1e-9)


def _choice(
    instance: Instance,
    points: Positions,
    label: Positions,
    limit: float,
    worth: Floats,
    k: int,
    rng: np.random.Generator,
) -> tuple[CoverSearch, Positions]:
    """The choice among some places for drawn points, and the places (positions)."""
    lists = ReachLists(instance, points)
    lists.radius = limit
    rank = rng.permutation(len(instance.allowed)).astype(np.int32)
    rank[np.searchsorted(instance.allowed, instance.opened)] = -1
    kept, found, entries = len(rank), [], 0
    for j in range(len(points)):
        near = lists.near(j)[0]
        near = near[rank[near] < kept]
        found.append(near)
        entries += len(near)
        if entries > 2 * _ENTRIES and kept > 4 * k:  # half of the places are enough
            kept //= 2
            found = [one[rank[one] < kept] for one in found]
            entries = sum(len(one) for one in found)
    at = np.flatnonzero(rank < kept)
    place = np.full(len(rank), -1, np.int32)
    place[at] = np.arange(len(at))
    starts = np.r_[0, np.cumsum([len(one) for one in found])]
    columns = place[np.concatenate(found)]
    ones = np.ones(len(columns), np.float32)
    reach = csr_array((ones, columns, starts), shape=(len(points), len(at)))
    thin = replace(instance, allowed=instance.allowed[at])
    summed = np.stack([np.bincount(label, w, len(points)) for w in worth]).astype(np.float64)
    return CoverSearch(thin, csr_array(reach.T.tocsr()), summed, k), thin.allowed


def _value(instance: Instance, sites: Positions, limit: float, worth: Floats) -> float:
    count, around = np.zeros(len(instance.demand), np.int64), Territories(instance)
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
    around = Territories(instance)
    balls = [around.demand(int(site), limit) for site in sites]
    count = np.zeros(worth.shape[1], np.int64)
    for ball in balls:
        count[ball] += 1
    for size in range(_ROUNDS):
        for i, site in enumerate(sites.tolist()):
            if site in fixed or instance.deadline.over:
                continue
            count[balls[i]] -= 1
            gain = table[np.minimum(count, last), columns]
            best, most = balls[i], float(gain[balls[i]].sum())
            for place in _places(
                instance, around.positions(site, limit / 4 ** (size + 1)), sites, rng
            ):
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
