"""Distances with units, such as "10 min", and numbers in the units of a metric."""

import math
import re
from typing import Any

from metricdp.arguments import positive, shown
from metricdp.errors import InputError
from metricdp.protocols import Space

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
"""For each unit, the base unit and the factor to it."""


def in_words(distance: float, unit: str | None) -> str:
    """A distance as text, in a suitable unit; a plain number where the unit is not known."""
    if not math.isfinite(distance):
        return "∞" if distance > 0 else "-∞"
    kind, size = UNITS.get(unit or "", ("", 1.0))
    if not kind or unit in ("ft", "yd", "mi"):
        return f"{_three_digits(distance)}{f' {unit}' if unit else ''}"
    value = distance * size
    steps = ((1.0, "m"), (1e3, "km")) if kind == "m" else ((1.0, "s"), (60.0, "min"), (3600.0, "h"))
    least = {"km": 1e3, "min": 120.0, "h": 7200.0}
    step, name = [s for s in steps if abs(value) >= 0.9995 * least.get(s[1], 0.0)][-1]
    return f"{_three_digits(value / step)} {name}"


def unit_shown(universe: Any) -> str | None:
    """The unit to print after a universe's distances, or "hops"; None where it is not known."""
    own: str | None = getattr(universe, "measured_in", None)
    return own or ("hops" if getattr(universe, "measured", None) == "hops" else None)


def _three_digits(value: float) -> str:
    """At least three significant digits, and all digits before the point."""
    if value == 0:
        return "0"
    if abs(value) >= 1e15 or abs(value) < 1e-6:
        return f"{value:.3g}"
    digits = max(2 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def checked_distance(distance: Any, name: str) -> Any:
    """A checked distance: a number, or text such as "10 min"."""
    if isinstance(distance, str):
        _parsed(distance, name)
        return distance
    return positive(distance, name, or_zero=True)


def in_units_of(metric: Space, distance: Any, name: str) -> float:
    """A distance in the units of a metric.

    Parameters
    ----------
    metric : Space
        Its `measured_in` is the unit of its distances.
    distance : float or str
        A number in those units, or a number and a unit of length or time: ``"500 m"``, ``"10
        min"``.
    name : str
        Name of the argument.

    Raises
    ------
    InputError
        It is negative or no number, or its unit is not known, or of another kind than the metric's.
    """
    if not isinstance(distance, str):
        return positive(distance, name, or_zero=True)
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


def positive_in_units_of(metric: Space, distance: Any, name: str) -> float:
    """A positive distance in the units of a metric, after a check."""
    given = in_units_of(metric, distance, name) if isinstance(distance, str) else distance
    return positive(given, name)


def _parsed(distance: str, name: str) -> tuple[float, str]:
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]+)\s*", distance)
    if match is None or match[2] not in UNITS:
        raise InputError(
            f"{name} must be a number in the metric's units, or a number and one of "
            f"{', '.join(UNITS)}, such as '10 min'; got {shown(distance)}"
        )
    return float(match[1]), match[2]
