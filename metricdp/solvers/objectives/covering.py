"""Coverage: maximum coverage, once or twice (backup), and set cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from metricdp.arguments import positive
from metricdp.errors import InputError
from metricdp.options import Length, Weights
from metricdp.solvers.dual_ascent import entries_within
from metricdp.solvers.near_lists import MetricCosts
from metricdp.solvers.objectives.cover_search import CoverSearch
from metricdp.solvers.objectives.instance import WITHIN, Chosen, Floats, Instance, Positions
from metricdp.solvers.objectives.objective import Objective, Size, steps_of
from metricdp.solvers.objectives.p_center import fewest_sites
from metricdp.solvers.objectives.sampled_cover import sampled_cover
from metricdp.solvers.objectives.service import Service

MOST_ENTRIES = 40_000_000
"""Pairs within the limit that are listed: 160 MB."""


@dataclass(frozen=True)
class _Coverage(Objective):
    """k sites of largest coverage: what covering a client once, and once more, is worth."""

    arcgis: ClassVar[str] = "none"
    maximized: ClassVar[bool] = True

    k: int
    limit: Length

    def choose(self, instance: Instance) -> Chosen:
        """Greedy and swaps, a Lagrangian bound, HiGHS; column generation if lists are too long."""
        limit, worth = steps_of(self.limit, instance.metric), self._worth(instance)
        reach = reached(instance, instance.demand, limit)
        if reach is None:
            found = sampled_cover(instance, self.k, limit, worth)
            return Chosen(
                instance.required_first(found[0]), self._covered(instance, found[0]), found[1]
            )
        cover = CoverSearch(instance, reach, worth, self.k)
        value, sites, bound = cover.solve()
        return Chosen(instance.required_first(instance.allowed[sites]), value, bound)

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """See `Objective`."""
        return Chosen(sites, self._covered(instance, sites))

    def _covered(self, instance: Instance, sites: Positions) -> float:
        limit, worth = steps_of(self.limit, instance.metric), self._worth(instance)
        count = np.zeros(len(instance.demand), np.int64)
        if len(worth) == 1:
            count += instance.nearest(sites)[1] <= limit * (1 + WITHIN)
        else:
            for site in sites:
                row = instance.metric.distance_rows(np.array([site]), instance.demand)[0]
                count += row <= limit * (1 + WITHIN)
        return float(sum(worth[t] @ (count > t) for t in range(len(worth))))

    def _worth(self, instance: Instance) -> Floats:
        """What covering each demand point once, and once more, is worth."""
        return instance.weight[None, :]


@dataclass(frozen=True)
class MaxCoverage(_Coverage):
    """k sites that cover as much demand as possible within a limit: *maximum coverage*.

    Parameters
    ----------
    k : int
    limit : float or str
        In the metric's units, or with a unit: ``"10 min"``. Demand at the limit is covered.
    capacities, single_source
        Largest load of each site, or sizes, and whether one site alone serves each point, as in
        `Capacitated`; only demand that is served counts (Current & Storbeck 1988).

    Notes
    -----
    With capacities sites come from the search of `Capacitated`; beyond 20 million pairs of site and
    point, sites and bound are those without capacities.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(7), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.MaxCoverage(k=1, limit=2))
    >>> plan.value, plan.gap
    (5.0, 0.0)
    >>> plan = mdp.solve(metric, mdp.objectives.MaxCoverage(k=1, limit=2, capacities=4))
    >>> plan.value, list(plan.loads.values()), plan.gap
    (4.0, [4.0], 0.0)
    """

    name: ClassVar[str] = "max-coverage"
    arcgis: ClassVar[str] = "Maximize Coverage, Maximize Capacitated Coverage"
    spopt: ClassVar[str] = "MCLP"

    capacities: Weights | Sequence[Size] | None = None
    single_source: bool = False

    def check(self, instance: Instance) -> None:
        """See `Objective`."""
        super().check(instance)
        if self.capacities is not None:
            self._service(instance).check(True)

    def choose(self, instance: Instance) -> Chosen:
        """See the class's notes."""
        if self.capacities is None:
            return super().choose(instance)
        whole = float(instance.weight.sum())
        free = super().choose(instance)
        start = free.sites if instance.start is None else instance.start
        if not instance.fits:
            return replace(self.judge(instance, start), bound=free.bound)
        found = self._service(instance).choose(start)
        value = whole - found.value
        most = whole if free.bound is None else free.bound
        if found.bound is not None:
            most = min(most, whole - found.bound)
        return replace(found, value=value, bound=value if most <= value * (1 + 1e-9) else most)

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """See `Objective`."""
        if self.capacities is None:
            return super().judge(instance, sites)
        found = self._service(instance).judge(sites)
        return replace(found, value=float(instance.weight.sum()) - found.value)

    def _service(self, instance: Instance) -> Service:
        limit, weight = steps_of(self.limit, instance.metric), instance.weight

        def costs(places: Positions) -> tuple[Floats, Floats]:
            return np.where(instance.block(places) > limit * (1 + WITHIN), 2 * weight, 0.0), weight

        return Service(
            instance, self.k, self.capacities, self.single_source, costs, priced_sizes=False
        )


@dataclass(frozen=True)
class BackupCoverage(_Coverage):
    """k sites that cover much demand once and a second time, so that it is served while a site is
    busy: *backup coverage* (Hogan & ReVelle 1986, BACOP2).

    Parameters
    ----------
    k, limit
        As in `MaxCoverage`.
    first : float
        Share of a unit of demand that counts if it is covered once, .5 to 1; the rest counts if it
        is covered twice.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(5), weight=None)
    >>> mdp.solve(metric, mdp.objectives.BackupCoverage(k=2, limit=2, first=0.5)).value
    4.5
    """

    name: ClassVar[str] = "backup-coverage"
    spopt: ClassVar[str] = "none (BACOP2 of Hogan & ReVelle 1986)"

    first: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.5 <= positive(self.first, "first") <= 1:
            raise InputError(f"first must be from 0.5 to 1, got {self.first!r}")

    def _worth(self, instance: Instance) -> Floats:
        return np.stack([self.first * instance.weight, (1 - self.first) * instance.weight])


@dataclass(frozen=True)
class SetCover(Objective):
    """The fewest sites that cover all demand within a limit: *location set covering*.

    Parameters
    ----------
    limit : float or str
        In the metric's units, or with a unit: ``"10 min"``. Demand at the limit is covered.
    threshold : float
        Only points of more weight than this must be covered; of noisy weights, those above the
        noise.

    Notes
    -----
    The value of a plan is the number of sites.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(7), weight=None)
    >>> sorted(mdp.solve(metric, mdp.objectives.SetCover(limit=3)).centers)
    [3]
    """

    name: ClassVar[str] = "set-cover"
    arcgis: ClassVar[str] = "Minimize Facilities"
    spopt: ClassVar[str] = "LSCP"

    limit: Length
    threshold: float = 0.0

    def choose(self, instance: Instance) -> Chosen:
        """Set-cover programs on growing lists of points (`fewest_sites`), then `CoverSearch` for
        fewer.
        """
        limit = steps_of(self.limit, instance.metric)
        clients = instance.heavier_than(self.threshold)
        distance = instance.metric.nearest_to(instance.allowed)[1][clients]
        out = int((distance > limit * (1 + WITHIN)).sum())
        if out:
            raise InputError(
                f"no choice of sites covers all demand: {out:,} points of it are farther than the "
                f"limit, {limit:g}, from every place where a site may stand"
            )
        sites, bound = fewest_sites(instance, clients, limit)
        if bound < len(sites) and (reach := reached(instance, clients, limit)) is not None:
            sites = _reduce(instance, reach, sites, bound)
        return Chosen(instance.required_first(sites), float(len(sites)), float(bound))

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """The number of sites; infinite if some demand is not covered."""
        limit = steps_of(self.limit, instance.metric)
        distance = instance.metric.nearest_to(sites)[1][instance.heavier_than(self.threshold)]
        covers = bool((distance <= limit * (1 + WITHIN)).all())
        return Chosen(sites, float(len(sites)) if covers else float("inf"))


def _reduce(instance: Instance, reach: csr_array, sites: Positions, bound: int) -> Positions:
    """Bisect the number of sites with the search for maximum coverage, down to `bound`."""
    everybody = np.ones((1, reach.shape[1]))
    while bound < len(sites) and not instance.deadline.over:
        k = (bound + len(sites)) // 2
        search = CoverSearch(instance, reach, everybody, k)
        found = search.search()
        if search.value(found) < reach.shape[1]:
            bound = k + 1
        else:
            sites = instance.allowed[found]
    return sites


def reached(instance: Instance, clients: Positions, limit: float) -> csr_array | None:
    """Matrix sites × clients (positions): 1 where a client is within the limit of a site; None with
    too many such pairs. On graphs bounded searches from the sites or the clients, whichever are
    fewer; elsewhere as in `MetricCosts`.
    """
    way: Any = instance.metric
    near, asked = instance.allowed, clients
    from_sites = way.network is not None and len(near) <= len(asked)
    if from_sites:
        near, asked = asked, near
        way = way.reversed if way.directed else way
    costs = MetricCosts(way, near, asked, np.ones(len(asked)))
    reach = np.full(len(asked), np.nextafter(limit * (1 + WITHIN), np.inf))
    if way.network is not None and entries_within(costs, reach) > 2 * MOST_ENTRIES:
        return None
    lists = costs.lists(reach, MOST_ENTRIES)
    if lists is None:
        return None
    entries = np.ones(len(lists.site)), lists.site, lists.start
    listed = csr_array(entries, shape=(len(asked), len(near)))
    return listed if from_sites else csr_array(listed.T.tocsr())
