"""The base of all objectives: a frozen value that defines what makes sites good, and finds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np

from metricdp.arguments import count, floats, positive, shown
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.units import checked_distance, in_units_of
from metricdp.options import by_id, flag, numbers
from metricdp.solvers.objectives.instance import Chosen, Floats, Instance, Positions


@dataclass(frozen=True)
class Size:
    """A size in which sites can be opened: `capacity` is its largest load, `cost` what opening one
    adds to the value, `most` how many may be open (by default any number).

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(6), weight=None)
    >>> sizes = [mdp.objectives.Size(2), mdp.objectives.Size(4, most=1)]
    >>> plan = mdp.solve(metric, mdp.objectives.Capacitated(k=2, capacities=sizes))
    >>> plan.value, sorted(plan.capacities)
    (5.0, [2.0, 4.0])
    """

    capacity: float
    cost: float = 0.0
    most: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", positive(self.capacity, "capacity"))
        object.__setattr__(self, "cost", positive(self.cost, "cost", or_zero=True))
        if self.most is not None:
            object.__setattr__(self, "most", count(self.most, "most"))


def checked_capacities(capacities: Any, name: str) -> Any:
    """The capacities as given; several sizes as a tuple."""
    if isinstance(capacities, str | bytes | bool):
        raise InputError(f"{name} must be numbers, got {capacities!r}")
    if isinstance(capacities, list | tuple) and any(isinstance(s, Size) for s in capacities):
        if not all(isinstance(one, Size) for one in capacities):
            raise InputError(f"{name} must be all of mdp.objectives.Size, or all numbers")
        return tuple(capacities)
    return capacities


class Objective(ABC):
    """What makes a choice of sites good.

    Attributes
    ----------
    name : str
        How the command line calls it.
    arcgis, spopt : str
        Its names in ArcGIS Network Analyst's location-allocation and in spopt.
    maximized : bool
        Whether larger values are better.

    Examples
    --------
    >>> objective = mdp.objectives.MaxCoverage(k=2, limit=900)
    >>> isinstance(objective, mdp.objectives.Objective), objective.name, objective.maximized
    (True, 'max-coverage', True)
    """

    name: ClassVar[str]
    arcgis: ClassVar[str]
    spopt: ClassVar[str]
    maximized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the parameters that several objectives have."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name in _CHECKED and value is not field.default:
                object.__setattr__(self, field.name, _CHECKED[field.name](value, field.name))
        if getattr(self, "single_source", False) and getattr(self, "capacities", 0) is None:
            raise InputError("single_source needs capacities")

    def check(self, instance: Instance) -> None:
        """Refuse what cannot be answered, before anything is searched or charged."""
        if hasattr(self, "k"):
            instance.check_count(self.k)
        if self.reach is not None:
            steps_of(self.reach, instance.metric)

    @abstractmethod
    def choose(self, instance: Instance) -> Chosen:
        """Good sites, their value, and a bound if there is one.

        Raises
        ------
        InputError
            No choice of sites meets the conditions.
        """

    @abstractmethod
    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """The value of given sites, and who serves whom, without a search."""

    @property
    def reach(self) -> Any:
        """The distance beyond which nobody is served, None without one."""
        return getattr(self, "limit", None)


_CHECKED: dict[str, Callable[[Any, str], Any]] = {
    "k": count,
    "limit": checked_distance,
    "capacities": checked_capacities,
    "single_source": flag,
    "threshold": partial(positive, or_zero=True),
}


def steps_of(limit: Any, metric: Metric, *, positive: bool = False) -> float:
    """A limit in the units of a metric's distances; errors as `in_units_of`."""
    steps = in_units_of(metric, limit, "limit")
    if positive and steps <= 0:
        raise InputError("limit must be positive where distances are summed, got 0")
    return steps


def per_site(values: Any, instance: Instance, name: str) -> Floats:
    """One number for each allowed site."""
    metric = instance.metric
    rule = (
        f"{name} must be one number for all sites, {len(metric.sites):,} numbers in the order of "
        f"metric.sites, or a mapping from id to number; finite and not negative"
    )
    named = by_id(values) is not None
    if not named:
        values = floats(values, rule)
        values = np.full(len(metric.sites), values) if values.ndim == 0 else values
    table = numbers(values, metric.site_positions, len(metric.sites), rule, np.nan)
    found = table[instance.allowed]
    if named and np.isnan(found).any():
        lacking = metric.sites[instance.allowed[np.isnan(found)][0]]
        raise InputError(f"{name} names no number for the site {shown(lacking)}")
    if not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(rule)
    return found
