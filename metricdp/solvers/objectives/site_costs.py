"""What each site of a solution is worth: the cost of removing it, and of its best relocation."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricdp.errors import InputError
from metricdp.solvers.objectives.instance import Floats, Instance, Positions
from metricdp.solvers.objectives.medians import KZ
from metricdp.solvers.objectives.objective import Objective
from metricdp.solvers.objectives.reach import Nearness

PLACES = 24
"""Other places tried for each site."""


@dataclass(frozen=True)
class SiteCosts:
    """What each site of a solution for public weights is worth; made by `Solution.stability`.

    `removal` (k,): by how much the value is worse without the site; `moving` (k,): the same with
    the site at the best of the 24 nearest other places that are farther than `within` from it,
    negative if that is better; `places` (k,): ids of these, None without any; both None if sites
    are no points of the universe; `within`: a distance; `value`: with all sites. Infinite where
    nobody could be served.
    """

    removal: Floats
    moving: Floats | None
    places: list[Any] | None
    within: float
    value: float

    @property
    def doubt(self) -> Floats:
        """How dispensable each site is, from 0 (the one whose removal costs most) to 1."""
        most = self.removal[np.isfinite(self.removal)].max(initial=0.0)
        with np.errstate(invalid="ignore"):
            return np.clip(1.0 - self.removal / (most or 1.0), 0.0, 1.0)

    def sentence(self, unit: str | None = None) -> str:
        """Which sites are worth most and least, in words."""
        most, least = int(np.argmax(self.removal)), int(np.argmin(self.removal))
        if len(self.removal) == 1:
            return "There is no other center."
        if np.isinf(self.removal).all():
            return "No center can be left out."
        return (
            f"Without center {most + 1} the value is {_share(self.removal[most], self.value)} "
            f"worse, the most; without center {least + 1} "
            f"{_share(self.removal[least], self.value)}, the least."
        )

    def to_columns(self) -> dict[str, list[Any]]:
        """Columns of a table of centers: ``removal``, ``moving`` and ``move_to``."""
        facts = {"removal": _finite(self.removal)}
        if self.moving is not None and self.places is not None:
            facts |= {"moving": _finite(self.moving), "move_to": self.places}
        return facts

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {**self.to_columns(), "within": self.within, "value": self.value}

    def of_site(self, i: int) -> str:
        """Text for a site on a map."""
        if np.isinf(self.removal[i]):
            return "it cannot be left out"
        return f"without it the value is {_share(self.removal[i], self.value)} worse"


def _finite(costs: Floats) -> list[Any]:
    return [cost if np.isfinite(cost) else None for cost in costs.tolist()]


def _share(more: float, value: float) -> str:
    if np.isinf(more):
        return "infinitely"
    return f"{100 * more / value:.3g} %" if value else f"{more:.4g}"


def site_costs(
    instance: Instance, objective: Objective, sites: Positions, within: float
) -> SiteCosts:
    """`SiteCosts` of these sites. For sums of costs by a search for each site and a pruned one for
    each place; for other objectives by `Objective.judge` of each.
    """
    metric, places = instance.metric, list[Any]()
    sign = -1.0 if objective.maximized else 1.0
    value = _value_of(instance, objective, sites)
    removal, moving = np.empty(len(sites)), np.empty(len(sites))
    points = metric.sites is metric.ids
    for i, site in enumerate(sites.tolist()):
        others = np.delete(sites, i)
        tried = _other_places(instance, sites, site, within) if points else others[:0]
        without, with_site = _value_and_with_one(instance, objective, others)
        removal[i] = sign * (without - value)
        found = np.array([sign * (with_site(place) - value) for place in tried.tolist()])
        best = int(np.argmin(found)) if len(found) else -1
        moving[i] = found[best] if len(found) else np.inf
        places.append(metric.ids[int(tried[best])] if len(found) else None)
    if not points:
        return SiteCosts(removal, None, None, within, value)
    return SiteCosts(removal, moving, places, within, value)


def _other_places(instance: Instance, sites: Positions, site: int, within: float) -> Positions:
    """The nearest other places beyond a distance."""
    free = np.setdiff1d(instance.allowed, sites)
    if not len(free):
        return free
    away = instance.metric.distance_rows(np.array([site]), free)[0]
    far = np.flatnonzero(away > within)
    near = np.argpartition(away[far], min(PLACES, len(far)) - 1)[:PLACES] if len(far) else far
    return np.asarray(free[far[near]], np.int64)


def _value_of(instance: Instance, objective: Objective, sites: Positions) -> float:
    """The value of sites; infinite (0 if maximized) where they cannot serve."""
    try:
        if len(sites):
            return float(objective.judge(replace(instance, kept={}), sites).value)
    except InputError:
        pass
    return 0.0 if objective.maximized else float("inf")


def _value_and_with_one(
    instance: Instance, objective: Objective, sites: Positions
) -> tuple[float, Callable[[int], float]]:
    """The value of some sites, and a function for the value with one more."""
    if not isinstance(objective, KZ):
        judged = _value_of(instance, objective, sites)
        return judged, lambda place: _value_of(instance, objective, np.append(sites, place))
    impedance, near = objective.impedance(instance), Nearness(instance)
    for site in sites.tolist():
        near.add(site)

    def summed(distance: Floats) -> float:
        return float(instance.weight @ impedance(distance[instance.demand]))

    value = summed(near.distance) if len(sites) else float("inf")
    return value, lambda place: summed(near.distance_with(place))
