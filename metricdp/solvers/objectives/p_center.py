"""p-center: the least distance within which k sites reach everybody.

Few demand points decide it. For some of them, and a radius, an integer program finds k sites that
reach them, or proves that there are none (then no k sites reach everybody: the radius is a lower
bound). Where there are, those left out join, the farthest of each site first, until nobody is left
out; the radius is halved in between (Chen & Chen, Comput. Oper. Res. 2009; Contardo, Iori & Kramer,
Comput. Oper. Res. 2019). So distances from a few hundred demand points are enough for a million
sites, and no matrix is held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metricdp.arguments import positive
from metricdp.kernels.reach import add_marks
from metricdp.solvers.objectives.objective import Objective, checked_k
from metricdp.solvers.objectives.programs import fewest_columns
from metricdp.solvers.objectives.rows import Lists
from metricdp.solvers.objectives.siting import (
    WITHIN,
    Chosen,
    Floats,
    Positions,
    Siting,
    first_opened,
)

_LARGE = 20_000
"""Universes of more sites are answered up to `_CLOSE`, within `_SEARCHES` whole searches."""
_CLOSE = 0.01
_SEARCHES = 180.0
_DOMINATED = 3000
"""Up to so many different columns, those that others dominate are left out before HiGHS sees
them.
"""
_SECONDS, _SECONDS_LARGE = 30.0, 12.0
_ALL_LISTED, _MOST_LISTED, _SCATTERED, _TRIED = 1500, 6000, 60, 4
"""For the fewest sites: clients that are all listed at once; most that are listed; those listed to
begin with; places tried for one that is left out when time is up.
"""


@dataclass(frozen=True)
class PCenter(Objective):
    """k sites of least largest distance to the demand: *p-center*, *k-center*.

    Parameters
    ----------
    k : int
    threshold : float
        Only points of more weight than this count: with noisy weights, where more was found than
        noise. With no weight above it all points count.

    Notes
    -----
    The value of a plan is that distance; it is exact up to 20,000 sites if the time allows;
    beyond, the search ends after some 180 searches of the whole universe, and the bound says how
    good it is.

    Examples
    --------
    >>> import networkx as nx, metricdp as mdp
    >>> metric = mdp.GraphMetric(nx.path_graph(7), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.PCenter(k=2))
    >>> plan.value, plan.bound
    (2.0, 2.0)
    """

    name: ClassVar[str] = "p-center"
    arcgis: ClassVar[str] = "none (Minimize Facilities at a cutoff found by search)"
    spopt: ClassVar[str] = "PCenter"

    k: int
    threshold: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        positive(self.threshold, "threshold", or_zero=True)

    def check(self, siting: Siting) -> None:
        """See `Objective`."""
        siting.check_count(self.k)

    def choose(self, siting: Siting) -> Chosen:
        """See the module's text."""
        search = Search(siting, self._clients(siting), self.k)
        search.run()
        return Chosen(first_opened(siting, search.best), search.upper, search.lower)

    def judge(self, siting: Siting, sites: Positions) -> Chosen:
        """See `Objective`."""
        distance = siting.metric.nearest_to(sites)[1]
        return Chosen(sites, float(distance[self._clients(siting)].max()))

    def _clients(self, siting: Siting) -> Positions:
        at = np.flatnonzero(siting.weights > self.threshold)
        return at if len(at) else siting.demand


class Search:
    """Bisection between a radius that is reached and one that cannot be.

    Attributes
    ----------
    best : ndarray of int64
        Positions of sites that reach everybody within `upper`.
    upper, lower : float
    open : float
        The largest radius of which it could not be told whether it can be reached in time.
    """

    def __init__(self, siting: Siting, clients: Positions, k: int) -> None:
        self.siting, self.clients, self.k = siting, clients, k
        self.large = len(siting.allowed) > _LARGE
        self.seconds = _SECONDS_LARGE if self.large else _SECONDS
        self.lists = Lists(siting, clients)
        self._rng = np.random.default_rng(siting.seed)
        self._marks = np.empty((0, 2), np.uint64)
        self.best, self.upper, self.lower = np.empty(0, np.int64), np.inf, 0.0
        self.open = -1.0

    def run(self) -> None:
        """Search until nothing is left between the two, or time or searches are used up."""
        self._farthest_first()
        while self.lower < self.upper and not self._enough():
            radii = self.lists.values(self.lower, self.upper)
            if len(radii) == 0:
                self.lower = self.upper
                break
            radii = radii[radii > self.open]
            if len(radii) == 0:
                break
            radius = float(radii[(len(radii) - 1) // 2])
            if not self._decide(radius):
                self.open = radius

        self._raise()

    def _raise(self) -> None:
        """Raise the lower bound with the lists at hand, where a radius was left open."""
        high = min(self.open, self.upper)
        while self.lower < high and not self.siting.deadline.over:
            radii = self.lists.values(self.lower, high)
            if len(radii) == 0 or high - self.lower <= _CLOSE * self.upper / 2:
                break
            radius = float(radii[(len(radii) - 1) // 2])
            sites, proven = self._sites(radius)
            if sites is not None or not proven:
                high = radius
                continue
            above = self.lists.values(radius, self.upper)
            above = above[above > radius * (1 + WITHIN)]
            self.lower = float(above[0]) if len(above) else self.upper

    def _enough(self) -> bool:
        close = self.large and self.upper - self.lower <= _CLOSE * self.upper
        tired = self.large and self.lists.searched > _SEARCHES
        return close or tired or self.siting.deadline.over

    def _farthest_first(self) -> None:
        """Sites near the demand that is farthest from those before (Gonzalez 1985), and that demand
        as the first lists.
        """
        sites = list(self.siting.opened)
        distance = np.full(len(self.clients), np.inf)
        if sites:
            distance = self._distances(np.array(sites))[1]
        client = int(np.argmax(distance)) if sites else 0
        while True:
            self.lists.add([client])
            if len(sites) == self.k:
                break
            sites.append(self.lists.nearest_site(client, sites))
            distance = np.minimum(distance, self._distances(np.array(sites[-1:]))[1])
            client = int(np.argmax(distance))
        self._reached(np.array(sites, np.int64))
        self.lists.shorten(self.upper)

    def _distances(self, sites: Positions) -> tuple[Positions, Floats]:
        self.lists.searched += 1.0 if len(sites) == 1 else 2.0
        label, distance = self.siting.metric.nearest_to(sites)
        return label[self.clients], distance[self.clients]

    def _reached(self, sites: Positions) -> tuple[Positions, Floats]:
        """Look how far these sites reach."""
        label, distance = self._distances(sites)
        if distance.max() < self.upper:
            self.best, self.upper = sites, float(distance.max())
        return label, distance

    def _decide(self, radius: float) -> bool:
        """Whether k sites reach everybody within a radius below `upper`: raises `lower` or lowers
        `upper`; False if it could not be told.
        """
        while True:
            sites, proven = self._sites(radius)
            if sites is None:
                if proven:
                    above = self.lists.values(radius, self.upper)
                    above = above[above > radius * (1 + WITHIN)]
                    self.lower = float(above[0]) if len(above) else self.upper
                return proven
            label, distance = self._reached(sites)
            if self.large and distance.max() > radius * (1 + WITHIN):
                moved = self._recentered(sites)
                if len(np.unique(moved)) == len(moved):
                    label, distance = min(
                        (label, distance), self._reached(moved), key=lambda found: found[1].max()
                    )
            if distance.max() <= radius * (1 + WITHIN):
                return True
            if self._enough():
                return False
            self.lists.add(self._worst(label, distance, radius))
            self.lists.shorten(self.upper)

    def _recentered(self, sites: Positions) -> Positions:
        """Every free site where the farthest of the listed clients nearest to it is nearest."""
        siting, rows = self.siting, np.searchsorted(self.siting.allowed, sites)
        near = np.full((len(sites), len(self.lists)), np.inf)
        place = np.full(len(siting.allowed), -1)
        place[rows] = np.arange(len(rows))
        for j in range(len(self.lists)):
            at, distance = self.lists[j]
            here = place[at] >= 0
            near[place[at[here]], j] = distance[here]
        nearest, moved = near.argmin(axis=0), np.array(sites)
        count, worst = np.zeros(len(siting.allowed), np.int32), np.zeros(len(siting.allowed))
        for i, site in enumerate(sites):
            mine = np.flatnonzero((nearest == i) & np.isfinite(near.min(axis=0)))
            if site in siting.opened or len(mine) == 0:
                continue
            count[:], worst[:] = 0, 0.0
            for j in mine.tolist():
                at, distance = self.lists[j]
                count[at] += 1
                worst[at] = np.maximum(worst[at], distance)
            within = np.flatnonzero(count == len(mine))
            if len(within):
                moved[i] = siting.allowed[within[np.argmin(worst[within])]]
        return moved

    def _worst(self, label: Positions, distance: Floats, radius: float) -> list[int]:
        """Of each site the farthest of those it does not reach."""
        out = np.flatnonzero(distance > radius * (1 + WITHIN))
        order = out[np.argsort(-distance[out], kind="stable")]
        first = np.unique(label[order], return_index=True)[1]
        return [int(i) for i in order[np.sort(first)]]

    def _sites(self, radius: float) -> tuple[Positions | None, bool]:
        """k sites that reach all listed clients within a radius, and whether it is settled."""
        siting, within = self.siting, radius * (1 + WITHIN)
        lists = self.lists
        fixed = np.searchsorted(siting.allowed, siting.opened)
        done = lists.near_any(fixed, within)
        open_ = [j for j in range(len(lists)) if not done[j]]
        left = self.k - len(siting.opened)
        if not open_:
            return self._filled(siting.opened), True
        columns, covers = self._columns(open_, within)
        rows, _, proven = fewest_columns(covers, siting.deadline, at_most=left, most=self.seconds)
        if rows is None:
            return None, proven
        return self._filled(np.r_[siting.opened, siting.allowed[columns[rows]]]), True

    def cover(self, radius: float) -> tuple[Positions, int]:
        """The fewest sites that reach everybody within a radius, and a bound of their number."""
        siting, within, lower = self.siting, radius * (1 + WITHIN), len(self.siting.opened)
        fixed = np.searchsorted(siting.allowed, siting.opened)
        few = len(self.clients) <= _ALL_LISTED
        sites = siting.opened
        self.lists.add(list(range(len(self.clients))) if few else self._scattered(radius))
        while True:
            done = self.lists.near_any(fixed, within)
            open_ = [j for j in range(len(self.lists)) if not done[j]]
            if open_:
                columns, covers = self._columns(open_, within)
                rows, bound, _ = fewest_columns(covers, siting.deadline, most=_SECONDS)
                assert rows is not None  # everybody is near some place
                sites = np.r_[siting.opened, siting.allowed[columns[rows]]]
                lower = max(lower, len(siting.opened) + int(bound))
            if len(sites) == 0:
                sites = siting.allowed[:1]
            label, distance = self._distances(sites)
            if not (distance > within).any():
                return sites, max(lower, 1)
            if siting.deadline.over or len(self.lists) > _MOST_LISTED:
                return self._completed(sites, radius), max(lower, 1)
            self.lists.add(self._worst(label, distance, radius))

    def _scattered(self, radius: float) -> list[int]:
        """Clients far from each other: each is out of reach of what serves those before best."""
        sites, found = list(self.siting.opened), [0]
        distance = np.full(len(self.clients), np.inf)
        while len(found) < _SCATTERED:
            self.lists.add(found[-1:])
            sites.append(self.lists.nearest_site(found[-1], sites))
            distance = np.minimum(distance, self._distances(np.array(sites[-1:]))[1])
            if distance.max() <= radius * (1 + WITHIN):
                break
            found.append(int(np.argmax(distance)))
        return found

    def _completed(self, sites: Positions, radius: float) -> Positions:
        """These sites, and more until everybody is reached."""
        distance = self._distances(sites)[1]
        while distance.max() > radius * (1 + WITHIN):
            client = int(np.argmax(distance))
            self.lists.add([client])
            near, _ = self.lists[self.lists.numbers.index(client)]
            best = self.siting.allowed[near[:_TRIED]]
            gains = [
                int((self._distances(np.array([site]))[1][distance > radius] <= radius).sum())
                for site in best
            ]
            sites = np.r_[sites, best[int(np.argmax(gains))]]
            distance = np.minimum(distance, self._distances(sites[-1:])[1])
        return sites

    def _filled(self, sites: Positions) -> Positions:
        """k distinct sites, these among them."""
        sites = np.unique(sites)
        others = np.setdiff1d(np.r_[self.best, self.siting.allowed[: 2 * self.k]], sites)
        return np.r_[sites, others[: self.k - len(sites)]].astype(np.int64)

    def _columns(self, which: list[int], radius: float) -> tuple[Positions, csr_array]:
        """One site of each kind (which listed clients it reaches), and the matrix clients × sites;
        kinds that others dominate are left out where there are few.
        """
        n = len(self.siting.allowed)
        while len(self._marks) < len(self.lists):
            fresh = self._rng.integers(0, 2**64, (64, 2), np.uint64)
            self._marks = np.concatenate([self._marks, fresh])
        marks = np.zeros((n, 2), np.uint64)
        for j in which:
            add_marks(*self.lists[j], radius, self._marks[j], marks)
        seen = np.flatnonzero(marks.any(axis=1))
        pairs = np.ascontiguousarray(marks[seen]).view([("a", np.uint64), ("b", np.uint64)]).ravel()
        _, first = np.unique(pairs, return_index=True)
        sites = seen[np.sort(first)]
        place = np.full(n, -1)
        place[sites] = np.arange(len(sites))
        indices, indptr = [], [0]
        for j in which:
            at, distance = self.lists[j]
            found = place[at[distance <= radius]]
            found = found[found >= 0]
            indices.append(found)
            indptr.append(indptr[-1] + len(found))
        covers = csr_array(
            (np.ones(indptr[-1]), np.concatenate(indices), indptr), shape=(len(which), len(sites))
        )
        if len(sites) <= _DOMINATED:
            kept = undominated(covers)
            covers, sites = csr_array(covers[:, kept]), sites[kept]
        return sites, covers


def fewest_sites(siting: Siting, clients: Positions, limit: float) -> tuple[Positions, int]:
    """Positions of the fewest sites, the mandatory among them, within whose limit all clients lie,
    and a lower bound of their number. Every client is within the limit of some place.
    """
    search = Search(siting, clients, len(siting.allowed))
    search.lists.radius = limit
    return search.cover(limit)


def undominated(covers: csr_array) -> NDArray[np.int64]:
    """Columns that no other column's rows contain, one of equal ones."""
    dense = covers.toarray().astype(np.float32)
    shared = dense.T @ dense
    size = np.diagonal(shared)
    inside = shared >= size[:, None]  # column i lies in column j
    equal = inside & inside.T
    later = np.tri(len(size), k=-1, dtype=bool)
    dominated = (inside & ~equal) | (equal & later)
    return np.flatnonzero(~dominated.any(axis=1))
