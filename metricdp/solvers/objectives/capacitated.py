"""Capacitated k-median: what a site can serve is limited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from metricdp.arguments import Ints, positive
from metricdp.errors import InputError
from metricdp.options import Length, Weights
from metricdp.solvers.objectives.instance import WITHIN, Chosen, Floats, Instance, Positions
from metricdp.solvers.objectives.medians import UNSERVED, KMedian, chosen_by_impedance
from metricdp.solvers.objectives.objective import Objective, Size, steps_of
from metricdp.solvers.objectives.service import Service
from metricdp.solvers.row_search import part_median

_ROUNDS, _SEARCHES = 2, 6
"""In large universes: rounds of moves to medians, and rows of distances for each."""


@dataclass(frozen=True)
class Capacitated(Objective):
    """k sites of least sum of weight × distance, none of which serves more than it can:
    *capacitated k-median*. Who is served where is part of the answer.

    Parameters
    ----------
    k : int
    capacities : number, mapping from id to number, array_like of shape (n_points,), or list of Size
        Largest load (`loads=` of `metricdp.solve`, by default the weights) of a site at each place;
        or the sizes in which sites can be opened (`Size`), whose costs are part of the value.
    limit : float or str, optional
        Nobody is served from farther. Each unit of demand left out costs ten times what serving it
        at the limit would. Without a limit everybody is served.
    single_source : bool
        Every point is served by a single site. By default several sites may share a point, which
        stands for many people; in all fewer than k points are shared.
    minimum : float
        Least load of each of the k sites. Not with a limit.

    Notes
    -----
    Service is optimal for the sites: the transportation problem, solved exactly. On a block of up
    to 20 million costs, sites come from a local search on sites and assignments (shifts, swaps,
    ejection chains, other sizes; violated capacities are penalized on the way). A Lagrangian bound
    with knapsack subproblems excludes sites; HiGHS solves the rest if it has at most 20,000 pairs
    of site and client. A time limit is used up while there is a gap. Beyond 20 million costs, sites
    come from k-median and move to the medians of those they serve, without a bound.

    Single sources have the same search. With one size and no minimum, neighboring sites are then
    reoptimized with their clients, part by part, and set partitioning follows over all sets of
    clients that a better solution can use, if they are at most a million, or four with a time
    limit. Beyond 4 million costs there is no bound. Where capacity is very scarce a feasible
    solution may not be found though there is one.

    For a release, capacities hold for the noisy loads: see `Solution.load_intervals`.

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
    capacities: Weights | Sequence[Size]
    limit: Length | None = None
    single_source: bool = False
    minimum: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if positive(self.minimum, "minimum", or_zero=True) and self.limit is not None:
            raise InputError("minimum needs everybody served: leave limit out")

    def check(self, instance: Instance) -> None:
        """See `Objective`; besides, k sites must have capacity for all that must be served."""
        super().check(instance)
        self._service(instance).check(self._limit(instance) is not None)

    def choose(self, instance: Instance) -> Chosen:
        """See the class's notes."""
        start = instance.start
        if start is None:
            impedance = KMedian(self.k, limit=self.limit).impedance(instance)
            start = chosen_by_impedance(instance, self.k, impedance, prove=False).sites
        if instance.fits:
            return self._service(instance).choose(start)
        return self._choose_beyond_block(instance, start)

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """Cheapest service from given sites."""
        return self._service(instance).judge(sites)

    def _service(self, instance: Instance) -> Service:
        limit, weight = self._limit(instance), instance.weight

        def costs(places: Positions) -> tuple[Floats, Floats | None]:
            block = instance.block(places)
            if limit is None:
                return block * weight, None
            far = block > limit * (1 + WITHIN)
            return np.where(far, 2 * UNSERVED * limit, block) * weight, UNSERVED * limit * weight

        return Service(instance, self.k, self.capacities, self.single_source, costs, self.minimum)

    def _limit(self, instance: Instance) -> float | None:
        return None if self.limit is None else steps_of(self.limit, instance.metric, positive=True)

    def _choose_beyond_block(self, instance: Instance, sites: Positions) -> Chosen:
        """Sites with capacity for everybody, which move to the medians of their clients while that
        helps.
        """
        best = self.judge(
            instance, self._service(instance).with_capacity(sites, self.limit is not None)
        )
        known = instance.metric.sites is instance.metric.ids  # medians are clients
        for _ in range(_ROUNDS if known else 0):
            moved = self._moved_to_medians(instance, best)
            if instance.deadline.over or len(np.unique(moved)) < len(moved):
                break
            try:
                found = self.judge(instance, moved)
            except InputError:
                break
            if found.value >= best.value * (1 - 1e-4):
                break
            best = found
        return replace(best, bound=None)

    def _moved_to_medians(self, instance: Instance, found: Chosen) -> Positions:
        assert found.assignment is not None
        moved: Ints = np.array(found.sites)
        for i in range(len(instance.opened), len(moved)):
            mine = found.assignment.sites == i
            clients = found.assignment.clients[mine]
            if len(clients) == 0:
                continue
            weights = np.zeros(len(instance.metric))
            weights[instance.demand[clients]] = (
                instance.weight[clients] * found.assignment.shares[mine]
            )
            part = instance.demand[clients]
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
