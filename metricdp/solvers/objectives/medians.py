"""k-median, k-means and (k, z)-clustering: least sums of powers of distances; and equity, a sum of
exponentials of distances.
"""

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
from metricdp.solvers.objectives.instance import Chosen, Instance, Positions
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
    sites = instance.required_first(found)
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


_MOST_PLAIN, _MOST_AT_MEDIANS, _BEYOND = 24.0, 15.0, 24.0
"""Exponents. If no distance has a larger one, costs are used as they are. If the k-median leaves
none above the second, costs are capped the third above its largest. Otherwise costs are stated
relative to the p-center's distance, which some demand has at least. Sums of costs hold 16 digits;
e**24 is 10 of them.
"""


@dataclass(frozen=True)
class Equity(Objective):
    """k sites of least Kolm–Pollak equally-distributed equivalent of the distances: a distance that
    would be as good if everybody had it [1]_.

    It is ``log(mean(exp(kappa · distance))) / kappa``, a mean by weight. It exceeds the mean
    distance by a penalty for inequality, and goes from the mean distance, as kappa goes to 0, to
    the largest one as kappa grows.

    Parameters
    ----------
    k : int
    aversion : float
        To inequality, without unit. kappa is this times ``sum of distances / sum of squared
        distances`` of the demand from a k-median of as many sites.
    kappa : float, optional
        In one over units of distance, in place of `aversion`.

    Notes
    -----
    The same sites minimize the sum of ``exp(kappa · distance)``: a k-median with transformed costs.

    References
    ----------
    .. [1] D. Horton, T. Logan, D. Skipper, E. Speakman, "A scalable approach to equitable facility
       location: minimizing the Kolm-Pollak equally-distributed equivalent", arXiv:2401.15452.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> weights = [100, 0, 0, 0, 0, 0, 0, 0, 1]
    >>> mdp.solve(metric, mdp.objectives.KMedian(1), weights=weights).centers
    [0]
    >>> mdp.solve(metric, mdp.objectives.Equity(1, kappa=2), weights=weights).centers
    [3]
    """

    name: ClassVar[str] = "equity"
    arcgis: ClassVar[str] = "Minimize Weighted Impedance, exponential cost transformation"
    spopt: ClassVar[str] = "PMedian, costs exp(kappa · cost)"

    k: int
    aversion: float = 1.0
    kappa: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.aversion, "aversion")
        if self.kappa is not None:
            positive(self.kappa, "kappa")
            if self.aversion != 1.0:
                raise InputError("kappa is in place of aversion: give one of them")

    def choose(self, instance: Instance) -> Chosen:
        """k-median of the transformed distances."""
        impedance = self._impedance(instance)
        found = chosen_by_impedance(instance, self.k, impedance, first=instance.kept.get("sites"))
        value = self._equivalent(instance, found.sites)
        if found.bound is None:
            return Chosen(found.sites, value)
        mean = found.bound / float(instance.weight.sum())
        if impedance.shift:
            level = impedance.shift + np.log(max(mean, np.finfo(float).tiny)) / impedance.growth
        else:
            level = np.log1p(mean) / impedance.growth
        return Chosen(found.sites, value, min(float(level), value))

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """See `Objective`."""
        return Chosen(sites, self._equivalent(instance, sites))

    def _equivalent(self, instance: Instance, sites: Positions) -> float:
        kappa, distance = self._impedance(instance).growth, instance.nearest(sites)[1]
        most, weight = float(distance.max()), instance.weight
        if kappa * most <= _MOST_PLAIN:
            mean = float(weight @ np.expm1(kappa * distance)) / float(weight.sum())
            return float(np.log1p(mean) / kappa)
        mean = float(weight @ np.exp(kappa * (distance - most))) / float(weight.sum())
        return most + float(np.log(mean)) / kappa

    def _impedance(self, instance: Instance) -> Impedance:
        """The cost transformation, whose growth is kappa. Also caches initial sites."""
        if "impedance" not in instance.kept:
            instance.kept["impedance"] = self._choose_impedance(instance)
        return instance.kept["impedance"]

    def _choose_impedance(self, instance: Instance) -> Impedance:
        known = None if self.kappa is None else float(self.kappa)
        diameter = instance.metric.diameter_bound()
        if known is not None and known * diameter <= _MOST_PLAIN:
            return Impedance(growth=known)
        sites = chosen_by_impedance(instance, self.k, Impedance(), prove=False).sites
        instance.kept["sites"] = sites
        distance = instance.nearest(sites)[1]
        squares = float(instance.weight @ distance**2)
        alpha = float(instance.weight @ distance) / squares if squares > 0 else 1.0
        kappa = float(self.aversion) * alpha if known is None else known
        if kappa * diameter <= _MOST_PLAIN:
            return Impedance(growth=kappa)
        most = kappa * float(distance.max())
        if most <= _MOST_AT_MEDIANS:
            most += _BEYOND
            return Impedance(growth=kappa, limit=most / kappa, beyond=float(np.expm1(most)))
        center = PCenter(self.k).choose(instance)
        instance.kept["sites"] = center.sites
        limit, beyond = center.value + _BEYOND / kappa, float(np.exp(_BEYOND))
        return Impedance(growth=kappa, shift=center.value, limit=limit, beyond=beyond)
