"""k-median, k-means and their relatives: least sums of powers of distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metricdp.arguments import positive
from metricdp.errors import InputError
from metricdp.solvers import kmedian
from metricdp.solvers.bounds import MOST_ENTRIES, certify
from metricdp.solvers.objectives.law_search import searched_by_law
from metricdp.solvers.objectives.laws import Law, Seen
from metricdp.solvers.objectives.objective import Objective, checked_k, checked_limit, steps_of
from metricdp.solvers.objectives.p_center import PCenter
from metricdp.solvers.objectives.siting import Chosen, Positions, Siting, first_opened

UNSERVED = 10.0
"""What leaving a unit of demand beyond the limit costs, in costs of serving it at the limit."""
_EQUAL = 1e-8
"""Gaps of costs that are no integers count as none up to this."""
_PROVEN_ENTRIES = 4_000_000
"""Blocks up to which the bound is computed without being asked for: some seconds."""
_OVERFLOW = 600.0
"""Largest logarithm of a cost."""
_STEEP, _RANGE = 7.0, 1e10
"""By larger powers, distances cost all the same that would cost so many times what must be paid:
sums hold 16 digits.
"""


def chosen_by_law(
    siting: Siting, k: int, law: Law, *, prove: bool = True, first: Positions | None = None
) -> Chosen:
    """k sites of least ``sum of weight · law(distance)``, with a lower bound where the block of all
    costs is small; one search begins with those of `first`.
    """
    if law.plain or siting.fits or siting.metric.network is None:
        found = _medians(siting, k, law, first)
    else:  # searches of the graph itself, from medians by the distance
        found = searched_by_law(siting, _medians(siting, k, Law()) if first is None else first, law)
    sites = first_opened(siting, found)
    value = judged_by_law(siting, sites, law).value
    return Chosen(sites, value, _bound(siting, sites, law, value) if prove else None)


def _medians(siting: Siting, k: int, law: Law, first: Positions | None = None) -> Positions:
    """Positions of k sites by `metricdp.solvers.kmedian`."""
    weights = np.zeros(len(siting.metric))
    weights[siting.demand] = siting.mass
    left = siting.deadline.left
    return kmedian.solve(
        siting.metric if law.plain else Seen(siting.metric, law),
        weights,
        k,
        power=law.plain or 1,
        candidates=siting.allowed,
        opened=siting.opened if len(siting.opened) else None,
        seed=siting.seed,
        starts=None,
        time_limit=None if left == float("inf") else max(left, 1e-9),
        first=first,
    ).centers


def provable(siting: Siting) -> bool:
    """Whether bounds are computed without being asked for."""
    return len(siting.allowed) * len(siting.demand) <= min(_PROVEN_ENTRIES, MOST_ENTRIES)


def judged_by_law(siting: Siting, sites: Positions, law: Law) -> Chosen:
    """Cost of given sites."""
    return Chosen(sites, float(siting.mass @ law(siting.nearest(sites)[1])))


def _bound(siting: Siting, sites: Positions, law: Law, value: float) -> float | None:
    if not provable(siting):
        return None
    found = certify(
        law(siting.block()),
        siting.mass,
        np.searchsorted(siting.allowed, sites),
        opened=np.searchsorted(siting.allowed, siting.opened),
        deadline=siting.deadline,
    )
    return value if found.gap <= _EQUAL else min(found.lower_bound, value)


@dataclass(frozen=True)
class KZ(Objective):
    """k sites of least sum of weight × distance to the power z: *(k, z)-clustering*.

    Parameters
    ----------
    k : int
    z : float
        At least 1: the larger, the more the farthest count.
    limit : float or str, optional
        Demand farther from all sites is not served. Each unit of it costs ten times what serving it
        at the limit would: as Hillsman (1984) edits costs, as much as possible is served first,
        then the sum is made small.

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
    limit: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        if positive(self.z, "z") < 1:
            raise InputError(f"z must be at least 1, got {self.z:g}")
        if self.limit is not None:
            checked_limit(self.limit)

    def check(self, siting: Siting) -> None:
        """See `Objective`."""
        siting.check_count(self.k)
        self.law(siting)

    def choose(self, siting: Siting) -> Chosen:
        """Swap local search (`metricdp.solvers.kmedian`); the bound by dual ascent
        (`metricdp.solvers.bounds`).
        """
        law, first = self.law(siting), None
        if law.z > _STEEP and law.limit == np.inf:
            center = PCenter(self.k).choose(siting)  # some demand is as far as that
            limit, first = center.value * _RANGE ** (1 / law.z), center.sites
            if limit > 0:
                law = Law(law.z, 0.0, limit, limit**law.z)
        found = chosen_by_law(siting, self.k, law, first=first)
        value = self.judge(siting, found.sites).value
        return Chosen(found.sites, value, None if found.bound is None else min(found.bound, value))

    def judge(self, siting: Siting, sites: Positions) -> Chosen:
        """See `Objective`."""
        return judged_by_law(siting, sites, self.law(siting))

    def law(self, siting: Siting) -> Law:
        """What serving a unit of demand costs, by the distance."""
        if self.limit is None:
            most = siting.metric.diameter_bound()
            if most > 0 and self.z > 2 and abs(self.z * np.log(most)) > _OVERFLOW:
                raise InputError(
                    f"z={self.z:g} is too large: distances of up to {most:g} to this power cannot "
                    f"be told apart; PCenter is what large powers tend to"
                )
            return Law(float(self.z))
        limit = steps_of(self.limit, siting.metric)
        if limit <= 0:
            raise InputError("limit must be positive where distances are summed, got 0")
        return Law(float(self.z), 0.0, limit, UNSERVED * limit ** float(self.z))


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
