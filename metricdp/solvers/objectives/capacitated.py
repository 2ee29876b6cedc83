"""Capacitated k-median: what a site can serve is limited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import shown
from metricdp.errors import InputError
from metricdp.options import Length, Weights
from metricdp.solvers.objectives.capacity_search import CapacitySearch
from metricdp.solvers.objectives.impedances import Impedance
from metricdp.solvers.objectives.instance import (
    WITHIN,
    Assignment,
    Chosen,
    Floats,
    Instance,
    Positions,
    first_opened,
)
from metricdp.solvers.objectives.medians import UNSERVED, chosen_by_impedance
from metricdp.solvers.objectives.objective import (
    Objective,
    checked_k,
    checked_limit,
    per_site,
    steps_of,
)
from metricdp.solvers.objectives.whole_search import WholeSearch
from metricdp.solvers.part_median import part_median
from metricdp.solvers.stopping import NEVER, Deadline

_ROUNDS, _SEARCHES = 2, 6
"""In large universes: rounds of moving sites to medians, and searches for each."""
_AT_ONCE = 4_000_000
_PARTED = 1e-9
"""Shares below this are nobody's."""
_NO_ROOM = "these sites have not room enough for all demand"
_NONE_WHOLE = (
    "no service of every point by one site alone was found: more capacity, more sites, or leave "
    "single_source out, and sites may share points"
)


@dataclass(frozen=True)
class Capacitated(Objective):
    """k sites of least sum of weight × distance, none of which serves more than it can:
    *capacitated k-median*. Who is served where is part of the answer.

    Parameters
    ----------
    k : int
    capacities : number, mapping from id to number, or array_like of shape (n_points,)
        Most load (`loads=` of `metricdp.solve`, by default the weights) of a site at each place.
    limit : float or str, optional
        Nobody is served from farther; each unit of demand left out costs ten times what serving it
        at the limit would. Without a limit everybody is served.
    single_source : bool
        Every point is served by one site, whole. By default several sites may share one, which
        stands for many people; of n points fewer than k are shared.

    Notes
    -----
    Service is optimal for the sites: the transportation problem, solved exactly. On a block of
    all costs up to 20 million, sites come from exchanges, a Lagrangian bound of knapsacks and
    HiGHS; beyond, from k-median, then moved to the medians of those they serve, without a bound.

    With a single source for everybody: a local search on sites and services (moves, exchanges,
    chains of three; too full sites cost on the way), a Lagrangian bound of knapsacks, and the best
    choice among all sets of clients that can be part of anything better, where these are at most a
    million, or four with a time limit. A time limit is used up while a gap is open. Beyond 4
    million costs there is no bound; where room is very scarce a service of all may not be found
    though there is one.

    Of a release, capacities hold for the noisy loads; `Solution.load_intervals` tells how far the
    true ones may exceed them.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(6), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.Capacitated(k=2, capacities=3))
    >>> sorted(plan.centers), sorted(plan.loads.values()), plan.value
    ([1, 4], [3.0, 3.0], 4.0)
    """

    name: ClassVar[str] = "capacitated"
    arcgis: ClassVar[str] = "Maximize Capacitated Coverage (with a limit)"
    spopt: ClassVar[str] = "none for p-median (LSCP and MCLP take capacities)"

    k: int
    capacities: Weights
    limit: Length | None = None
    single_source: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        if self.limit is not None:
            checked_limit(self.limit)
        if isinstance(self.capacities, str | bytes | bool):
            raise InputError(f"capacities must be numbers, got {self.capacities!r}")

    def check(self, instance: Instance) -> None:
        """See `Objective`; besides, k sites must have room for all that must be served."""
        instance.check_count(self.k)
        room = per_site(self.capacities, instance, "capacities")
        if self._limit(instance) is not None:
            return
        if self.single_source and instance.load.max() > room.max() * (1 + 1e-9):
            largest = int(instance.load.argmax())
            raise InputError(
                f"{shown(instance.metric.ids[instance.demand[largest]])} has a load of "
                f"{instance.load[largest]:g}, more than any site can serve ({room.max():g}): leave "
                f"single_source out, and several sites share it"
            )
        fixed = np.searchsorted(instance.allowed, instance.opened)
        others = np.sort(np.delete(room, fixed))[::-1][: self.k - len(fixed)]
        most, need = float(room[fixed].sum() + others.sum()), float(instance.load.sum())
        if most < need * (1 - 1e-9):
            raise InputError(
                f"the capacities are below the demand: the {self.k:,} roomiest sites that may be "
                f"chosen can serve {most:g}, and the load is {need:g}; more sites, more capacity, "
                f"or a limit beyond which nobody is served"
            )

    def choose(self, instance: Instance) -> Chosen:
        """See the class's notes."""
        start = instance.start
        if start is None:
            start = chosen_by_impedance(
                instance, self.k, self._impedance(instance), prove=False
            ).sites
        if not instance.fits:
            return self._moved(instance, start)
        if self.single_source:
            return self._whole(instance, start)
        search = CapacitySearch(*self._asked(instance, instance.allowed, self.k, instance.opened))
        search.run(np.searchsorted(instance.allowed, start))
        sites = first_opened(instance, instance.allowed[search.best])
        found = self.judge(instance, sites)
        return Chosen(sites, found.value, min(search.lower, found.value), found.assignment)

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """Cheapest service from given sites."""
        asked = self._asked(instance, sites, len(sites), sites)
        if self.single_source:
            known, site = instance.kept.get("served", (None, None))
            search = WholeSearch(*asked[:-1], NEVER, instance.seed)
            search.serve(site if np.array_equal(known, sites) else None)
            if search.rows is None:
                short = asked[2].sum() < asked[1].sum() * (1 - 1e-9)
                raise InputError(_NO_ROOM if short else _NONE_WHOLE)
            return _whole(sites, search, None)
        shared = CapacitySearch(*asked)
        value, flow = shared.flow(np.arange(len(sites)))
        if flow is None:
            raise InputError(_NO_ROOM)
        return Chosen(sites, value, None, self._assignment(instance, shared, flow, len(sites)))

    def _whole(self, instance: Instance, start: Positions) -> Chosen:
        """A single source for everybody."""
        all_opened = len(instance.opened) == self.k
        places = instance.opened if all_opened else instance.allowed
        search = WholeSearch(*self._asked(instance, places, self.k, instance.opened), instance.seed)
        search.run(np.searchsorted(places, start))
        if search.rows is None:
            raise InputError(_NONE_WHOLE)
        found = _whole(places[search.rows], search, search.lower)
        assert found.assignment is not None
        instance.kept["served"] = found.sites, search.site
        return found

    def _limit(self, instance: Instance) -> float | None:
        if self.limit is None:
            return None
        limit = steps_of(self.limit, instance.metric)
        if limit <= 0:
            raise InputError("limit must be positive where distances are summed, got 0")
        return limit

    def _impedance(self, instance: Instance) -> Impedance:
        limit = self._limit(instance)
        return Impedance() if limit is None else Impedance(1.0, 0.0, limit, UNSERVED * limit)

    def _asked(
        self, instance: Instance, places: Positions, k: int, fixed: Positions
    ) -> tuple[Floats, Floats, Floats, int, Positions, Floats | None, Deadline]:
        """What searches are given."""
        limit = self._limit(instance)
        block = instance.block(places)
        spare = None
        if limit is not None:
            spare = UNSERVED * limit * instance.mass
            block = np.where(block > limit * (1 + WITHIN), 2 * UNSERVED * limit, block)
        known = Instance(instance.metric, instance.weights, places)
        return (
            block * instance.mass,
            instance.load,
            per_site(self.capacities, known, "capacities"),
            k,
            np.searchsorted(places, fixed) if len(fixed) < len(places) else np.arange(len(places)),
            spare,
            instance.deadline,
        )

    def _assignment(
        self, instance: Instance, search: CapacitySearch, flow: Floats, k: int
    ) -> Assignment:
        """Shares from loads; clients of no load go to the nearest site that may serve them."""
        sites, clients = np.nonzero(flow[:k])
        shares = flow[sites, clients] / instance.load[clients]
        free = np.flatnonzero(instance.load <= 0)
        if len(free):
            near = search.costs[:, free].argmin(axis=0)
            cost = search.costs[near, free]
            served = (
                np.ones(len(free), bool) if search.spare is None else cost <= search.spare[free]
            )
            sites, clients = np.r_[sites, near[served]], np.r_[clients, free[served]]
            shares = np.r_[shares, np.ones(served.sum())]
        kept = shares > _PARTED
        return Assignment(clients[kept], sites[kept], shares[kept])

    def _moved(self, instance: Instance, sites: Positions) -> Chosen:
        """Room for everybody; then sites move to the medians of whom they serve, if that helps."""
        best = self.judge(instance, self._roomy(instance, sites))
        for _ in range(_ROUNDS):
            moved = self._medians(instance, best)
            if instance.deadline.over or len(np.unique(moved)) < len(moved):
                break
            try:
                found = self.judge(instance, moved)
            except InputError:
                break
            if found.value >= best.value * (1 - 1e-4):
                break
            best = found
        return Chosen(best.sites, best.value, None, best.assignment)

    def _roomy(self, instance: Instance, sites: Positions) -> Positions:
        room = per_site(self.capacities, instance, "capacities")
        nothing = np.zeros((len(room), 1))
        search = CapacitySearch(
            nothing,
            instance.load.sum(keepdims=True),
            room,
            self.k,
            np.searchsorted(instance.allowed, instance.opened),
            None if self.limit is None else np.zeros(1),
            instance.deadline,
        )
        rows = search.with_room(np.searchsorted(instance.allowed, sites))
        return first_opened(instance, instance.allowed[rows])

    def _medians(self, instance: Instance, found: Chosen) -> Positions:
        assert found.assignment is not None
        moved: NDArray[np.int64] = np.array(found.sites)
        for i in range(len(instance.opened), len(moved)):
            mine = found.assignment.sites == i
            clients = found.assignment.clients[mine]
            if len(clients) == 0:
                continue
            weights = np.zeros(len(instance.metric))
            weights[instance.demand[clients]] = (
                instance.mass[clients] * found.assignment.shares[mine]
            )
            part = instance.demand[clients]
            places = instance.allowed
            if instance.metric.sites is instance.metric.ids:
                places = np.intersect1d(part, instance.allowed)
            if len(places) == 0:
                continue
            moved[i] = part_median(
                instance.metric,
                weights,
                part,
                allowed=places,
                searches=_SEARCHES,
                deadline=instance.deadline,
            ).center
        return moved


def _whole(sites: Positions, search: WholeSearch, bound: float | None) -> Chosen:
    """What a search of single sources found."""
    clients = np.flatnonzero(search.site >= 0)
    at = search.site[clients]
    assignment = Assignment(clients, at, np.ones(len(clients)))
    return Chosen(sites, search.upper, bound, assignment)
