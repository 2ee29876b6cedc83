"""The kind of a coordinate reference system, and its name in messages."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from metricdp.errors import InputError
from metricdp.protocols import CoordinateSystem
from metricdp.universe.crs import WGS84, crs_text, known_crs


def declared_by_graph(declared: Any) -> str | None:
    """The text of a graph's attribute ``crs``, as it is where pyproj does not know it."""
    try:
        return crs_text(declared)
    except InputError:
        return str(declared)


def kind_of(crs: str) -> CoordinateSystem:
    """Whether a system has degrees or planar axes."""
    if crs == WGS84:
        return "lonlat"
    if find_spec("pyproj") is None:
        return "lonlat" if "4326" in crs or "crs84" in crs.lower() else "xy"
    try:
        return "lonlat" if known_crs(crs).is_geographic else "xy"
    except InputError:
        return "xy"


def described(crs: str | None) -> str:
    """The name of a system in messages."""
    if crs is None:
        return "no declared coordinate system"
    if crs == WGS84:
        return f"{WGS84} (longitude and latitude)"
    if find_spec("pyproj") is None:
        return crs[:60]
    name = str(known_crs(crs).name)
    return f"{crs} ({name})" if len(crs) < 20 else name
