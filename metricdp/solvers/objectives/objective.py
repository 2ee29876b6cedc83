"""What every objective is: a frozen value that says what makes sites good, and can find them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from metricdp.arguments import integer, positive, shown
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.solvers.objectives.siting import Chosen, Floats, Positions, Siting

UNITS = {
    "mm": ("m", 1e-3),
    "cm": ("m", 1e-2),
    "m": ("m", 1.0),
    "km": ("m", 1e3),
    "ft": ("m", 0.3048),
    "yd": ("m", 0.9144),
    "mi": ("m", 1609.344),
    "s": ("s", 1.0),
    "sec": ("s", 1.0),
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
}
"""Of what each unit is how many."""


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
    >>> import metricdp as mdp
    >>> objective = mdp.objectives.MaxCoverage(k=2, limit=900)
    >>> isinstance(objective, mdp.objectives.Objective), objective.name, objective.maximized
    (True, 'max-coverage', True)
    """

    name: ClassVar[str]
    arcgis: ClassVar[str]
    spopt: ClassVar[str]
    maximized: ClassVar[bool] = False

    @abstractmethod
    def check(self, siting: Siting) -> None:
        """Refuse what cannot be answered, before anything is searched or paid for.

        Raises
        ------
        InputError
        """

    @abstractmethod
    def choose(self, siting: Siting) -> Chosen:
        """Good sites, and what is proven of them.

        Raises
        ------
        InputError
            No choice of sites meets the conditions.
        """

    @abstractmethod
    def judge(self, siting: Siting, sites: Positions) -> Chosen:
        """The value of given sites, and who is served by whom; nothing is searched."""

    @property
    def reach(self) -> Any:
        """The distance beyond which nobody is served; None if there is none."""
        return getattr(self, "limit", None)


def checked_k(k: Any) -> int:
    """A number of sites.

    Raises
    ------
    InputError
        It is no positive integer.
    """
    number = integer(k)
    if number is None or number < 1:
        raise InputError(f"k must be an integer of at least 1, got {shown(k)}")
    return number


def checked_limit(limit: Any) -> Any:
    """A distance limit as it was given: a number, or text such as "10 min".

    Raises
    ------
    InputError
        It is neither.
    """
    if isinstance(limit, str):
        _parsed(limit)
        return limit
    return positive(limit, "limit", or_zero=True)


def steps_of(limit: Any, metric: Metric) -> float:
    """A limit in the units of a metric's distances.

    Parameters
    ----------
    limit : float or str
        A number in those units, or a number and a unit of length or time: ``"500 m"``, ``"10
        min"``.
    metric : Metric
        Its `measured_in` says what its distances are measured in.

    Raises
    ------
    InputError
        The unit is not known, or is of another kind than the metric's.
    """
    if not isinstance(limit, str):
        return float(limit)
    number, unit = _parsed(limit)
    own = metric.measured_in
    if own is None:
        raise InputError(
            f"limit={limit!r}: it is not known what distances of {metric.name} are measured in; "
            f"give a number in their own units, or set metric.measured_in (such as 'm' or 's')"
        )
    kind, size = UNITS[unit]
    if own not in UNITS:
        raise InputError(f"metric.measured_in must be one of {', '.join(UNITS)}; got {shown(own)}")
    if UNITS[own][0] != kind:
        raise InputError(f"limit={limit!r}: distances of {metric.name} are measured in {own}")
    return number * size / UNITS[own][1]


def _parsed(limit: str) -> tuple[float, str]:
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]+)\s*", limit)
    if match is None or match[2] not in UNITS:
        raise InputError(
            f"limit must be a number in the metric's units, or a number and one of "
            f"{', '.join(UNITS)}, such as '10 min'; got {shown(limit)}"
        )
    return float(match[1]), match[2]


def per_site(values: Any, siting: Siting, name: str) -> Floats:
    """One number for each allowed site.

    Parameters
    ----------
    values : number, mapping from id to number, or array_like of shape (n_points,)
        In the order of ``metric.ids``.

    Raises
    ------
    InputError
        Not that, negative, not finite, or a site has none.
    """
    metric = siting.metric
    rule = (
        f"{name} must be one number for all sites, {len(metric.sites):,} numbers in the order of "
        f"metric.sites, or a mapping from id to number; finite and not negative"
    )
    if hasattr(values, "keys"):
        table = np.full(len(metric.sites), np.nan)
        table[metric.site_positions(values.keys())] = [_number(x, rule) for x in values.values()]
        if np.isnan(table[siting.allowed]).any():
            lacking = metric.sites[siting.allowed[np.isnan(table[siting.allowed])][0]]
            raise InputError(f"{name} names no number for the site {shown(lacking)}")
    else:
        try:
            table = np.asarray(values, np.float64)
        except (TypeError, ValueError):
            raise InputError(rule) from None
        table = np.full(len(metric.sites), table) if table.ndim == 0 else table
    if table.shape != (len(metric.sites),):
        raise InputError(rule)
    found = table[siting.allowed]
    if not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(rule)
    return found


def _number(value: Any, rule: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(rule) from None
