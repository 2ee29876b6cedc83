"""Coordinate reference systems, their kinds and their names in messages: identified by pyproj and
never guessed.

A system is stored as text: ``"EPSG:32719"`` where an authority names it, else WKT. Coordinates are
always in the order x, y: longitude (or easting) first, whatever the authority's order.
"""

import re
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from metricdp.errors import InputError, need
from metricdp.protocols import CoordinateSystem

WGS84 = "EPSG:4326"
"""Longitude and latitude: the default system of degrees, as in GeoJSON."""
EARTH_RADIUS = 6_371_008.8
"""Mean radius of the Earth in meters (IUGG)."""
_DEGREES = re.compile(r"(epsg:{1,2}\d*:?4326|.*crs84)", re.IGNORECASE)


def crs_text(declared: Any) -> str | None:
    """The text of a declared system; None if none is declared."""
    if declared is None or (isinstance(declared, str) and not declared.strip()):
        return None
    if isinstance(declared, str) and _DEGREES.fullmatch(declared.strip()):
        return WGS84
    if find_spec("pyproj") is None:
        return str(declared).strip()
    found = known_crs(declared)
    authority = found.to_authority(min_confidence=100)
    if authority is not None:
        name = ":".join(authority)
        return WGS84 if name == "OGC:CRS84" else name
    return str(found.to_wkt())


@lru_cache(maxsize=64)
def known_crs(declared: Any) -> Any:
    """pyproj's object of a system."""
    need("coordinate systems", "geo", "pyproj")
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    with suppress(CRSError):
        return CRS.from_user_input(declared)
    raise InputError(f"unknown coordinate system {str(declared)[:60]!r}, such as EPSG:4326")


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
