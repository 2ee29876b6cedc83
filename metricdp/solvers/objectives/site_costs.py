"""What each site is worth: the cost of doing without it, and of the best other place for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricdp.errors import InputError
from metricdp.solvers.objectives.instance import Floats, Instance, Positions
from metricdp.solvers.objectives.medians import KZ
from metricdp.solvers.objectives.nearness import Nearness
from metricdp.solvers.objectives.objective import Objective

PLACES = 24
"""That are tried for each site."""


@dataclass(frozen=True)
class SiteCosts:
    """What each site of a solution for public weights is worth; `Solution.stability` makes it.

    `removal` (k,): by how much the objective's value is worse without the site; `moving` (k,): the
    same with the site at the best of the 24 nearest other places that are farther than `within`
    from it, negative where that is better; `places` (k,): their ids, None where there is none; both
    None where sites are no points of the universe; `within`: a distance; `value`: with all sites.
    Infinite where nobody could be served.
    """

    removal: Floats
    moving: Floats | None
    places: list[Any] | None
    within: float
    value: float

    @property
    def doubt(self) -> Floats:
        """How little each site is missed, 0 to 1, beside the one that is missed most."""
        most = self.removal[np.isfinite(self.removal)].max(initial=0.0)
        with np.errstate(invalid="ignore"):
            return np.clip(1.0 - self.removal / (most or 1.0), 0.0, 1.0)

    def sentence(self, unit: str | None = None) -> str:
        """Which sites are missed most and least."""
        most, least = int(np.argmax(self.removal)), int(np.argmin(self.removal))
        if len(self.removal) == 1:
            return "There is no other center."
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
        """What a map says of a site."""
        return f"without it the value is {_share(self.removal[i], self.value)} worse"


def _finite(costs: Floats) -> list[Any]:
    return [cost if np.isfinite(cost) else None for cost in costs.tolist()]


def _share(more: float, value: float) -> str:
    return f"{100 * more / value:.3g} %" if np.isfinite(more) and value else f"{more:.4g}"


def site_costs(
    instance: Instance, objective: Objective, sites: Positions, within: float
) -> SiteCosts:
    """`SiteCosts` of these sites. Of sums of costs a search for each site, and a pruned one for
    each place; of other objectives `Objective.judge` of each.
    """
    metric, places = instance.metric, list[Any]()
    sign = -1.0 if objective.maximized else 1.0
    value = _judged(instance, objective, sites)
    removal, moving = np.empty(len(sites)), np.empty(len(sites))
    points = metric.sites is metric.ids
    for i, site in enumerate(sites.tolist()):
        others = np.delete(sites, i)
        tried = _elsewhere(instance, sites, site, within) if points else others[:0]
        without, with_site = _without(instance, objective, others)
        removal[i] = sign * (without - value)
        found = np.array([sign * (with_site(place) - value) for place in tried.tolist()])
        best = int(np.argmin(found)) if len(found) else -1
        moving[i] = found[best] if len(found) else np.inf
        places.append(metric.ids[int(tried[best])] if len(found) else None)
    if not points:
        return SiteCosts(removal, None, None, within, value)
    return SiteCosts(removal, moving, places, within, value)


def _elsewhere(instance: Instance, sites: Positions, site: int, within: float) -> Positions:
    """The nearest other places beyond a distance."""
    free = np.setdiff1d(instance.allowed, sites)
    if not len(free):
        return free
    away = instance.metric.distance_rows(np.array([site]), free)[0]
    far = np.flatnonzero(away > within)
    near = np.argpartition(away[far], min(PLACES, len(far)) - 1)[:PLACES] if len(far) else far
    return np.asarray(free[far[near]], np.int64)


def _judged(instance: Instance, objective: Objective, sites: Positions) -> float:
    """The value of sites; infinite, or none of it, where it cannot be."""
    try:
        if len(sites):
            return float(objective.judge(replace(instance, kept={}), sites).value)
    except InputError:
        pass
    return 0.0 if objective.maximized else float("inf")


def _without(
    instance: Instance, objective: Objective, sites: Positions
) -> tuple[float, Callable[[int], float]]:
    """The value of some sites, and what gives that of one more: sums of costs by distances, those
    of other objectives by what any can do.
    """
    if not isinstance(objective, KZ):
        judged = _judged(instance, objective, sites)
        return judged, lambda place: _judged(instance, objective, np.append(sites, place))
    impedance, near = objective.impedance(instance), Nearness(instance)
    for site in sites.tolist():
        near.add(site)

    def summed(distance: Floats) -> float:
        return float(instance.weight @ impedance(distance[instance.demand]))

    value = summed(near.distance) if len(sites) else float("inf")
    return value, lambda place: summed(near.distance_with(place))
