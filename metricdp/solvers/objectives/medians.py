"""k-median, k-means and (k, z)-clustering: least sums of powers of distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metricdp.arguments import positive
from metricdp.errors import InputError
from metricdp.options import Length
from metricdp.solvers import kmedian
from metricdp.solvers.bounds import MOST_ENTRIES, certify
from metricdp.solvers.kmedian import LARGE
from metricdp.solvers.objectives.impedances import CostMetric, Impedance
from metricdp.solvers.objectives.instance import Chosen, Instance, Positions, first_opened
from metricdp.solvers.objectives.objective import Objective, steps_of
from metricdp.solvers.objectives.p_center import PCenter

UNSERVED = 10.0
"""Cost of leaving a unit of demand beyond the limit, as a multiple of serving it at the limit."""
_EQUAL = 1e-8
"""Gaps up to this count as none where costs are no integers."""
_PROVEN_ENTRIES = 4_000_000
"""Largest block that is bounded without being asked for: some seconds."""
_LARGEST_LOG = 600.0
"""Largest logarithm of a cost."""
_LARGE_POWER, _RANGE = 7.0, 1e10
"""Above this power, costs are capped at this multiple of the p-center's, as sums hold 16 digits."""


def chosen_by_impedance(
    instance: Instance,
    k: int,
    impedance: Impedance,
    *,
    prove: bool = True,
    first: Positions | None = None,
) -> Chosen:
    """k sites of least ``sum of weight · impedance(distance)``; with a bound if that is quick and
    `prove`.
    """
    direct = bool(impedance.plain) or instance.fits or instance.metric.network is None
    if first is None and not direct:  # searches along edges start from the k-median
        first = _medians(instance, k, Impedance())
    # with a limit the cost is flat beyond it: small graphs get several starts
    many_starts = impedance.limit < np.inf and len(instance.metric) <= LARGE
    found = _medians(instance, k, impedance, first, None if direct or many_starts else 1)
    sites = first_opened(instance, found)
    value = judged_by_impedance(instance, sites, impedance).value
    return Chosen(sites, value, _bound(instance, sites, impedance, value) if prove else None)


def _medians(
    instance: Instance,
    k: int,
    impedance: Impedance,
    first: Positions | None = None,
    starts: int | None = None,
) -> Positions:
    """Positions of k sites by `metricdp.solvers.kmedian`."""
    left = instance.deadline.left
    return kmedian.solve(
        instance.metric if impedance.plain else CostMetric(instance.metric, impedance),
        instance.demand_weights,
        k,
        power=impedance.plain or 1,
        terms=None if impedance.plain or instance.metric.network is None else impedance.terms,
        candidates=instance.allowed,
        opened=instance.opened if len(instance.opened) else None,
        seed=instance.seed,
        starts=starts,
        time_limit=None if left == float("inf") else max(left, 1e-9),
        first=first,
    ).centers


def provable(instance: Instance) -> bool:
    """Whether a bound is computed without being asked for."""
    entries = len(instance.allowed) * len(instance.demand)
    return instance.prove and entries <= min(_PROVEN_ENTRIES, MOST_ENTRIES)


def judged_by_impedance(instance: Instance, sites: Positions, impedance: Impedance) -> Chosen:
    """Cost of given sites."""
    return Chosen(sites, float(instance.weight @ impedance(instance.nearest(sites)[1])))


def _bound(
    instance: Instance, sites: Positions, impedance: Impedance, value: float
) -> float | None:
    if not provable(instance):
        return None
    found = certify(
        impedance(instance.block()),
        instance.weight,
        np.searchsorted(instance.allowed, sites),
        opened=np.searchsorted(instance.allowed, instance.opened),
        deadline=instance.deadline,
    )
    return value if found.gap <= _EQUAL else min(found.lower_bound, value)


@dataclass(frozen=True)
class KZ(Objective):
    """k sites of least sum of weight × distance to the power z: *(k, z)-clustering*.

    Parameters
    ----------
    k : int
    z : float
        At least 1. A larger power gives more weight to the farthest demand.
    limit : float or str, optional
        Demand farther from all sites is not served. Each unit of it costs ten times what serving it
        at the limit would, so coverage comes first, then the sum (cost editing: Hillsman 1984).

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(5), weight=None)
    >>> mdp.solve(metric, mdp.objectives.KZ(k=1, z=3)).centers
    [2]
    """

    name: ClassVar[str] = "kz"
    arcgis: ClassVar[str] = "Minimize Weighted Impedance, cost transformed by a power"
    spopt: ClassVar[str] = "PMedian, costs to the power z"

    k: int
    z: float = 2.0
    limit: Length | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if positive(self.z, "z") < 1:
            raise InputError(f"z must be at least 1, got {self.z:g}")

    def check(self, instance: Instance) -> None:
        """See `Objective`."""
        super().check(instance)
        self.impedance(instance)

    def choose(self, instance: Instance) -> Chosen:
        """Swap local search, and the bound by dual ascent (`metricdp.solvers.bounds`)."""
        impedance, first = self.impedance(instance), None
        if impedance.z > _LARGE_POWER and impedance.limit == np.inf:
            center = PCenter(self.k).choose(instance)  # no k sites have a smaller largest distance
            limit, first = center.value * _RANGE ** (1 / impedance.z), center.sites
            if limit > 0:
                impedance = Impedance(impedance.z, 0.0, limit, limit**impedance.z)
        found = chosen_by_impedance(instance, self.k, impedance, first=first)
        value = self.judge(instance, found.sites).value
        return Chosen(found.sites, value, None if found.bound is None else min(found.bound, value))

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """See `Objective`."""
        return judged_by_impedance(instance, sites, self.impedance(instance))

    def impedance(self, instance: Instance) -> Impedance:
        """The cost transformation."""
        if self.limit is None:
            most = instance.metric.diameter_bound()
            if most > 0 and self.z > 2 and abs(self.z * np.log(most)) > _LARGEST_LOG:
                raise InputError(
                    f"z={self.z:g} is too large: distances of up to {most:g} to this power cannot "
                    f"be distinguished; PCenter is what large powers tend to"
                )
            return Impedance(float(self.z))
        limit = steps_of(self.limit, instance.metric, positive=True)
        return Impedance(float(self.z), 0.0, limit, UNSERVED * limit ** float(self.z))


@dataclass(frozen=True)
class KMedian(KZ):
    """k sites of least sum of weight × distance; `limit` as in `KZ`.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(5), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2))
    >>> plan.value, plan.gap
    (3.0, 0.0)
    """

    name: ClassVar[str] = "k-median"
    arcgis: ClassVar[str] = "Minimize Weighted Impedance (P-Median)"
    spopt: ClassVar[str] = "PMedian"

    z: float = 1.0


@dataclass(frozen=True)
class KMeans(KZ):
    """k sites of least sum of weight × squared distance; `limit` as in `KZ`.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(5), weight=None)
    >>> mdp.solve(metric, mdp.objectives.KMeans(k=1)).value
    10.0
    """

    name: ClassVar[str] = "k-means"
    arcgis: ClassVar[str] = "Minimize Weighted Impedance, cost transformed by the power 2"
    spopt: ClassVar[str] = "PMedian, squared costs"

    z: float = 2.0
