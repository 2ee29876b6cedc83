"""p-center: the least distance within which k sites reach everybody.

For a radius and a few listed demand points, a set-cover program finds k sites that reach them, or
proves that there are none. Points left out are listed until none is; the radius is bisected (Chen &
Chen, Comput. Oper. Res. 2009; Contardo, Iori & Kramer, Comput. Oper. Res. 2019). Larger universes:
`wide_center`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from metricdp.options import Weights
from metricdp.solvers.objectives.instance import WITHIN, Chosen, Floats, Instance, Positions
from metricdp.solvers.objectives.objective import Objective, Size
from metricdp.solvers.objectives.reach import CenterSearch, Nearness
from metricdp.solvers.objectives.service import FullCenters
from metricdp.solvers.objectives.wide_center import WideSearch
from metricdp.solvers.programs import fewest_columns, seconds_of_rounds

_LARGE = 20_000
"""Universes of more sites are answered by `wide_center`."""
_CLOSE = 0.01
"""Relative gap at which the bound is good enough, where a radius was left undecided."""
_SECONDS = 30.0
_ALL_LISTED, _MOST_LISTED, _FIRST_LISTED, _PLACES_TRIED = 1500, 6000, 60, 4
"""For the fewest sites: up to so many clients all are listed at once; most listed; listed at first;
places tried for a client left out.
"""


@dataclass(frozen=True)
class PCenter(Objective):
    """k sites of least largest distance to the demand: *p-center*, *k-center*.

    Parameters
    ----------
    k : int
    threshold : float
        Only points of more weight than this count; of noisy weights, those above the noise. With
        none above it all demand counts.

    Notes
    -----
    The value is that distance. It is exact up to 20,000 sites if time allows. Beyond, the search
    ends after some 180 searches of the whole universe, 450 where a gap is left, or as much time;
    the bound says how good it is. With capacities a bisection asks the search of `Capacitated`
    whether k sites can serve all within a distance; beyond 20 million pairs of site and point the
    sites are those without capacities.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(7), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.PCenter(k=2))
    >>> plan.value, plan.bound
    (2.0, 2.0)
    >>> plan = mdp.solve(metric, mdp.objectives.PCenter(k=2, capacities=[4, 9, 4, 4, 4, 4, 4]))
    >>> plan.value, sorted(plan.loads.values())
    (2.0, [3.0, 4.0])
    """

    name: ClassVar[str] = "p-center"
    arcgis: ClassVar[str] = "none (Minimize Facilities at a cutoff found by search)"
    spopt: ClassVar[str] = "PCenter"

    k: int
    threshold: float = 0.0
    capacities: Weights | Sequence[Size] | None = None
    single_source: bool = False

    def check(self, instance: Instance) -> None:
        """See `Objective`; besides, k sites must have capacity for all who count."""
        instance.check_count(self.k)
        if self.capacities is not None:
            self._with_capacities(instance).check()

    def choose(self, instance: Instance) -> Chosen:
        """See the class's notes."""
        free = self._uncapacitated(instance)
        if self.capacities is None:
            return free
        start = free.sites if instance.start is None else instance.start
        return self._with_capacities(instance).choose(start, free.bound or 0.0)

    def _with_capacities(self, instance: Instance) -> FullCenters:
        clients = instance.heavier_than(self.threshold)
        return FullCenters(instance, clients, self.k, self.capacities, self.single_source)

    def _uncapacitated(self, instance: Instance) -> Chosen:
        search_type = WideSearch if len(instance.allowed) > _LARGE else Search
        search = search_type(instance, instance.heavier_than(self.threshold), self.k)
        search.run()
        return Chosen(instance.required_first(search.best), search.upper, search.lower)

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """See `Objective`."""
        if self.capacities is not None:
            return self._with_capacities(instance).judge(sites)
        distance = instance.metric.nearest_to(sites)[1]
        return Chosen(sites, float(distance[instance.heavier_than(self.threshold)].max()))


class Search(CenterSearch):
    """Bisection between a radius within which k sites were found and one proven too small.

    `undecided`: the largest radius for which time did not suffice; `seconds`: most for an integer
    program.
    """

    undecided, seconds = -1.0, 0.0

    def run(self) -> None:
        """Search without integer programs, then with them, until no radius is left between the two,
        or the time is over. Without a time limit a gap that is left then stays.
        """
        self._start()
        for seconds in seconds_of_rounds(_SECONDS, self.instance.deadline):
            if self.lower >= self.upper:
                break
            self.undecided, self.seconds = -1.0, seconds
            self._bisect()
            self._raise_with_lists()

    def _bisect(self) -> None:
        """Lower `upper`, and raise `lower` where a radius is refuted. Integer programs begin with
        the largest radius: that it is too small ends the search.
        """
        while self.lower < self.upper and not self.instance.deadline.over:
            self.instance.deadline.tell(self.upper, self.lower)
            radii = self.lists.values(self.lower, self.upper)
            if len(radii) == 0:
                self.lower = self.upper
                break
            radii = radii[radii > self.undecided]
            if len(radii) == 0:
                break
            radius = float(radii[-1] if self.seconds else radii[(len(radii) - 1) // 2])
            if not self._decide(radius):
                self.undecided = radius

    def _raise_with_lists(self) -> None:
        """Raise the lower bound with the clients listed so far, if a radius is undecided."""
        high = min(self.undecided, self.upper)
        while self.lower < high and not self.instance.deadline.over:
            radii = self.lists.values(self.lower, high)
            if len(radii) == 0 or high - self.lower <= _CLOSE * self.upper / 2:
                break
            radius = float(radii[(len(radii) - 1) // 2])
            sites, proven = self._sites_within(radius)
            if sites is not None or not proven:
                high = radius
            else:
                self._set_lower(radius)

    def _set_lower(self, radius: float) -> None:
        """This radius is refuted: the next listed distance is the lower bound."""
        above = self.lists.values(radius, self.upper)
        above = above[above > radius * (1 + WITHIN)]
        self.lower = float(above[0]) if len(above) else self.upper

    def _start(self) -> None:
        """Farthest-first clients are listed first; the sites near them are the first solution."""
        found = list(islice(self._farthest(Nearness(self.instance)), self._n_free + 1))
        self.lists.add([client for client, _ in found])
        sites = [site for _, site in found[: self._n_free]]
        self._evaluate(self._filled(np.array(sites, np.int64)))
        self.lists.shorten(self.upper)

    def _decide(self, radius: float) -> bool:
        """Decide whether k sites reach everybody: set `lower` or `upper`. False if undecided."""
        while True:
            sites, proven = self._sites_within(radius)
            if sites is None:
                if proven:
                    self._set_lower(radius)
                return proven
            label, distance = self._evaluate(sites)
            if distance.max() <= radius * (1 + WITHIN):
                return True
            if self.instance.deadline.over:
                return False
            self.lists.add(self._farthest_uncovered(label, distance, radius))
            self.lists.shorten(self.upper)

    def _farthest_uncovered(self, label: Positions, distance: Floats, radius: float) -> list[int]:
        """For each site the farthest of its clients that it does not reach."""
        out = np.flatnonzero(distance > radius * (1 + WITHIN))
        order = out[np.argsort(-distance[out], kind="stable")]
        first = np.unique(label[order], return_index=True)[1]
        return [int(i) for i in order[np.sort(first)]]

    def _sites_within(self, radius: float) -> tuple[Positions | None, bool]:
        """k sites that reach all listed clients (None: none found); whether that is proven."""
        sites, proven = self._cover_program(self._uncovered(radius), radius, self.seconds)
        return (None if sites is None else self._filled(sites)), proven

    def cover(self, radius: float) -> tuple[Positions, int]:
        """The fewest sites that reach everybody, and a lower bound of their number."""
        instance, within, lower = self.instance, radius * (1 + WITHIN), len(self.instance.opened)
        sites, clients, proven = instance.opened, list(range(len(self.clients))), True
        if len(clients) > _ALL_LISTED:
            scattered = self._farthest(Nearness(instance), within)
            clients = [client for client, _ in islice(scattered, _FIRST_LISTED)]
        self.lists.add(clients)
        while True:
            uncovered = self._uncovered(radius)
            if uncovered:
                columns, covers = self._undominated.columns(uncovered, within)
                rows, bound, proven = fewest_columns(covers, instance.deadline, seconds=_SECONDS)
                assert rows is not None  # everybody is near some place
                sites = np.r_[instance.opened, instance.allowed[columns[rows]]]
                lower = max(lower, len(instance.opened) + int(bound))
            if len(sites) == 0:
                sites = instance.allowed[:1]
            label, distance = self._nearest(sites)
            if not (distance > within).any():
                return sites, max(lower, 1)
            if not proven and len(self.lists) < len(self.clients) <= _MOST_LISTED:
                self.lists.add(list(range(len(self.clients))))
                continue
            if not proven or instance.deadline.over or len(self.lists) > _MOST_LISTED:
                return self._extended(sites, radius), max(lower, 1)
            self.lists.add(self._farthest_uncovered(label, distance, radius))

    def _extended(self, sites: Positions, radius: float) -> Positions:
        """These sites, and more until everybody is reached."""
        distance = self._nearest(sites)[1]
        while distance.max() > radius * (1 + WITHIN):
            client = int(np.argmax(distance))
            self.lists.add([client])
            near, _ = self.lists[self.lists.numbers.index(client)]
            best = self.instance.allowed[near[:_PLACES_TRIED]]
            gains = [
                int((self._nearest(np.array([site]))[1][distance > radius] <= radius).sum())
                for site in best
            ]
            sites = np.r_[sites, best[int(np.argmax(gains))]]
            distance = np.minimum(distance, self._nearest(sites[-1:])[1])
        return sites


def fewest_sites(instance: Instance, clients: Positions, limit: float) -> tuple[Positions, int]:
    """The fewest sites within whose limit all clients lie, and a lower bound of their number."""
    search = Search(instance, clients, len(instance.allowed))
    search.lists.radius = limit
    return search.cover(limit)
