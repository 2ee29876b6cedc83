"""Coverage in universes where who is within the limit of whom cannot be listed.

Some demand points, drawn by weight, stand for the demand nearest to them; sites are chosen for
these, anywhere, and then moved to better places nearby at full resolution. The bound is that of a
relaxation: whoever covers v covers the point that stands for v within the limit and the distance
between the two.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from metricdp.solvers.objectives.cover_search import Cover
from metricdp.solvers.objectives.rows import Lists, Territories
from metricdp.solvers.objectives.siting import WITHIN, Floats, Positions, Siting

_ENTRIES, _MOST, _SEARCHES = 12_000_000, 3000, 110.0
"""Pairs listed, points drawn and searches of the whole universe: whichever comes first."""
_SHELLS = 3
_ROUNDS, _NEAR = 3, 8
"""Rounds of moves, and places tried for each site in a round."""


def sampled_cover(siting: Siting, k: int, limit: float, worth: Floats) -> tuple[Positions, float]:
    """k sites of much coverage, and an upper bound of what any k cover.

    Parameters
    ----------
    siting : Siting
    k : int
    limit : float
    worth : ndarray of float64, shape (n_levels, n_demand)
        What covering a demand point once, and once more, adds.
    """
    rng = np.random.default_rng(siting.seed)
    sample = _Sample(siting, limit, rng)
    cover = Cover(siting, sample.matrix(limit), sample.summed(worth), k)
    sites = siting.allowed[cover.search()]
    sites = _moved(siting, sites, limit, worth, rng)
    shells, reach = sample.shells(worth, limit)
    value = _value(siting, sites, limit, worth)
    bound = min(Cover(siting, reach, shells, k).bound(value)[0], float(worth.sum()))
    return sites, max(bound, value)


class _Sample:
    """Demand points drawn by weight, the demand that each stands for, and the sites near each."""

    def __init__(self, siting: Siting, limit: float, rng: np.random.Generator) -> None:
        self.siting = siting
        order = rng.permutation(len(siting.demand))
        chance = np.cumsum(siting.mass[order])
        drawn = rng.random(_MOST) * chance[-1]
        drawn = order[np.minimum(np.searchsorted(chance, drawn, side="right"), len(order) - 1)]
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
        probe = Lists(siting, siting.demand)
        probe.radius = limit
        probe.add([int(i) for i in drawn[:8]])
        pairs = max(sum(len(probe[j][0]) for j in range(len(probe))) / len(probe), 1.0)
        searches = max(probe.searched / len(probe), 1e-9)
        size = int(min(_ENTRIES / (2 * pairs), _SEARCHES / (2 * searches), len(drawn)))
        self.points = siting.demand[drawn[: max(size, 8)]]
        around = siting.metric.symmetric
        label, distance = around.nearest_to(self.points)
        self.label, self.distance = label[siting.demand], distance[siting.demand]
        self.lists = Lists(siting, self.points)
        self.lists.radius = limit + float(np.quantile(self.distance, 0.999))
        self.far = self.distance > self.lists.radius - limit
        self.lists.add(list(range(len(self.points))))

    def summed(self, worth: Floats) -> Floats:
        """Worth of all that each point stands for."""
        return np.stack([np.bincount(self.label, w, len(self.points)) for w in worth])

    def matrix(self, radius: float) -> csr_array:
        """Sites × points within a radius."""
        return self._matrix([(j, radius) for j in range(len(self.points))])

    def shells(self, worth: Floats, limit: float) -> tuple[Floats, csr_array]:
        """The demand of each point by distance from it, a few shells each, as clients of their own;
        what is farther than was searched is covered for free.
        """
        near = ~self.far
        order = np.lexsort((self.distance, self.label))
        rank = np.empty(len(order), np.int64)
        size = np.bincount(self.label, minlength=len(self.points))
        start = np.r_[0, np.cumsum(size)[:-1]]
        rank[order] = np.arange(len(order)) - np.repeat(start, size)
        shell = np.minimum(rank * _SHELLS // np.maximum(size[self.label], 1), _SHELLS - 1)
        number = self.label * _SHELLS + shell
        m = len(self.points) * _SHELLS
        outer = np.zeros(m)
        np.maximum.at(outer, number[near], self.distance[near])
        values = np.stack([np.bincount(number[near], w[near], m) for w in worth])
        reach = self._matrix([(c // _SHELLS, limit + outer[c]) for c in range(m)])
        free = np.stack([w[self.far].sum(keepdims=True) for w in worth])
        everywhere = csr_array(np.ones((reach.shape[0], 1)))
        joined = csr_array(_beside(reach, everywhere))
        return np.concatenate([values, free], axis=1), joined

    def _matrix(self, wanted: list[tuple[int, float]]) -> csr_array:
        """Sites × wanted, each a listed point and a radius."""
        found = []
        for j, radius in wanted:
            sites, distance = self.lists[j]
            found.append(np.sort(sites[distance <= radius * (1 + WITHIN)]))
        starts = np.r_[0, np.cumsum([len(one) for one in found])]
        indices = np.concatenate(found).astype(np.int32)
        shape = (len(wanted), len(self.siting.allowed))
        data = np.ones(len(indices), np.float32)
        return csr_array(csr_array((data, indices, starts), shape=shape).T.tocsr())


def _beside(left: csr_array, right: csr_array) -> csr_array:
    from scipy.sparse import hstack

    return hstack([left, right], format="csr")


def _value(siting: Siting, sites: Positions, limit: float, worth: Floats) -> float:
    count, around = np.zeros(len(siting.demand), np.int64), Territories(siting)
    for site in sites:
        count[around.demand(int(site), limit)] += 1
    return float(sum(level @ (count > t) for t, level in enumerate(worth)))


def _moved(
    siting: Siting, sites: Positions, limit: float, worth: Floats, rng: np.random.Generator
) -> Positions:
    """Move sites, one at a time, to the best of some places nearby."""
    sites, fixed = np.array(sites), set(siting.opened.tolist())
    table = np.vstack([worth, np.zeros((1, worth.shape[1]))])
    columns, last = np.arange(worth.shape[1]), len(worth)
    around = Territories(siting)
    balls = [around.demand(int(site), limit) for site in sites]
    count = np.zeros(worth.shape[1], np.int64)
    for ball in balls:
        count[ball] += 1
    for size in range(_ROUNDS):
        for i, site in enumerate(sites.tolist()):
            if site in fixed or siting.deadline.over:
                continue
            count[balls[i]] -= 1
            gain = table[np.minimum(count, last), columns]
            best, most = balls[i], float(gain[balls[i]].sum())
            for place in _places(
                siting, around.positions(site, limit / 4 ** (size + 1)), sites, rng
            ):
                ball = around.demand(place, limit)
                total = float(gain[ball].sum())
                if total > most:
                    best, most, sites[i] = ball, total, place
            balls[i] = best
            count[best] += 1
    return sites


def _places(
    siting: Siting, near: Positions, taken: Positions, rng: np.random.Generator
) -> list[int]:
    """Some of these positions where a site may stand, none of them taken."""
    if siting.metric.sites is not siting.metric.ids:  # points are no sites: any place will do
        near = siting.allowed
    inside = np.zeros(len(siting.metric.sites), bool)
    inside[near] = True
    free = np.zeros(len(inside), bool)
    free[siting.allowed] = True
    free[taken] = False
    near = np.flatnonzero(inside & free)
    return [int(v) for v in rng.choice(near, min(_NEAR, len(near)), replace=False)]
