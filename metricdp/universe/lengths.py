"""What lengths are measured in: by the reader, the column's name, or coordinates."""

from __future__ import annotations

import re

import numpy as np

from metricdp.arrays import Floats
from metricdp.universe.graph import Graph
from metricdp.universe.moving import meters_per_unit

_NAMED = {
    "m": r"(?:^|_)(?:m|metres?|meters?)$",
    "km": r"(?:^|_)(?:km|kilomet(?:er|re)s?)$",
    "mi": r"(?:^|_)(?:mi|miles?)$",
    "ft": r"(?:^|_)(?:ft|feet)$",
    "s": r"(?:^|_)(?:s|secs?|seconds?)$",
    "min": r"(?:^|_)(?:min|mins|minutes?)$",
    "h": r"(?:^|_)(?:h|hrs?|hours?)$",
}
"""Endings of a column's name."""
_TIMES = re.compile(r"time|duration|hops|cost|speed", re.IGNORECASE)
_EARTH = 6_371_008.8
_SAME = 0.03
"""Straight roads are as long as the way between their ends, up to so much."""


def unit_of(graph: Graph) -> str | None:
    """The unit of a graph's lengths, such as ``"m"``, if it is known.

    Lengths whose column does not name one are in meters, or kilometers, where a tenth of the edges
    are as long as the straight way between their ends, and hardly any is shorter: so are those of
    OSMnx and of most road data, and no times or tolls.
    """
    if graph.measured.endswith("in meters"):
        return "m"
    quoted = re.fullmatch(r"(?:column|attribute) '(.*)'", graph.measured)
    if quoted is None:
        return None
    name = re.sub(r"[^a-z]+", "_", quoted[1].lower()).strip("_")
    timed = _TIMES.search(name) is not None
    for unit, ending in _NAMED.items():
        if re.search(ending, name) and not (timed and unit == "m"):
            return unit
    return None if timed else _by_places(graph)


def _by_places(graph: Graph) -> str | None:
    straight, lengths = _straight(graph)
    known = np.isfinite(straight) & (straight > 1.0)
    if known.sum() < 20:
        return None
    ratio = lengths[known] / straight[known]
    for unit, size in (("m", 1.0), ("km", 1e-3)):
        low, tenth = np.quantile(ratio / size, (0.02, 0.1))
        if low > 1 - 2 * _SAME and abs(tenth - 1) < _SAME:
            return unit
    return None


def _straight(graph: Graph) -> tuple[Floats, Floats]:
    """Meters between the ends of edges as the crow flies, and their lengths."""
    nothing = np.empty(0)
    if graph.coordinates is None:
        return nothing, nothing
    tails = graph.tails()
    start, end = graph.coordinates[tails], graph.coordinates[graph.indices]
    if graph.coordinate_system != "lonlat":
        size = None if graph.crs is None else meters_per_unit(graph.crs)
        return (nothing, nothing) if size is None else (size * _norm(end - start), graph.lengths)
    away = np.radians(end - start)
    away[:, 0] *= np.cos(np.radians((start[:, 1] + end[:, 1]) / 2))
    return _EARTH * _norm(away), graph.lengths


def _norm(away: Floats) -> Floats:
    return np.asarray(np.hypot(away[:, 0], away[:, 1]), np.float64)
