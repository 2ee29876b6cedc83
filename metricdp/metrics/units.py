"""Distances with units, such as "10 min", and numbers in the units of a metric."""

from __future__ import annotations

import re
from typing import Any

from metricdp.arguments import positive, shown
from metricdp.errors import InputError
from metricdp.metrics.base import Metric

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


def checked_distance(distance: Any, name: str) -> Any:
    """A distance as it was given: a number, or text such as "10 min".

    Raises
    ------
    InputError
        It is neither.
    """
    if isinstance(distance, str):
        _parsed(distance, name)
        return distance
    return positive(distance, name, or_zero=True)


def in_units_of(metric: Metric, distance: Any, name: str) -> float:
    """A distance in the units of a metric's.

    Parameters
    ----------
    metric : Metric
        Its `measured_in` says what its distances are measured in.
    distance : float or str
        A number in those units, or a number and a unit of length or time: ``"500 m"``, ``"10
        min"``.
    name : str
        Of the argument.

    Raises
    ------
    InputError
        The unit is not known, or is of another kind than the metric's.
    """
    if not isinstance(distance, str):
        return float(distance)
    number, unit = _parsed(distance, name)
    own = metric.measured_in
    if own is None:
        raise InputError(
            f"{name}={distance!r}: it is not known what distances of {metric.name} are measured "
            f"in; give a number in their own units, or set metric.measured_in, such as 'm' or 's' "
            f"(--measured-in)"
        )
    kind, size = UNITS[unit]
    if own not in UNITS:
        raise InputError(f"metric.measured_in must be one of {', '.join(UNITS)}; got {shown(own)}")
    if UNITS[own][0] != kind:
        raise InputError(f"{name}={distance!r}: distances of {metric.name} are measured in {own}")
    return number * size / UNITS[own][1]


def _parsed(distance: str, name: str) -> tuple[float, str]:
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]+)\s*", distance)
    if match is None or match[2] not in UNITS:
        raise InputError(
            f"{name} must be a number in the metric's units, or a number and one of "
            f"{', '.join(UNITS)}, such as '10 min'; got {shown(distance)}"
        )
    return float(match[1]), match[2]
