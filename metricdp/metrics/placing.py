"""The map from coordinates in a stated reference system to positions of a universe.

**Privacy.** Systems, transformation, limit and box follow from public facts, before a record is
read. `CoordinatePlacing` then maps each point by itself: one fixed operation of PROJ, then the
nearest point. A point outside the stated box is an error; one beyond the limit has position -1 and
adds 0 to every sum.
"""

import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from metricdp.arguments import Floats, floats, positive, shown
from metricdp.errors import InputError
from metricdp.metrics.snapping import CoordinatePlacing
from metricdp.metrics.units import UNITS
from metricdp.protocols import Space
from metricdp.universe.crs import WGS84, crs_text, described, kind_of
from metricdp.universe.files import LAT_NAMES, LON_NAMES
from metricdp.universe.moving import check_extent, check_meets, transformation
from metricdp.universe.transformation import Transformation

_DISTANCE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([a-zA-Z]*)\s*")


class Snapping(Protocol):
    """A finite universe with coordinates."""

    coordinate_system: Any
    crs: str | None

    def snap_radius(self, meters: float) -> float:
        """A distance in meters, in the units of the coordinates."""


def placing(
    universe: Space,
    *,
    crs: Any = None,
    max_snap: Any = None,
    box: Any = None,
    names: Sequence[str] = (),
    file_crs: Any = None,
    geometry: bool = False,
    what: str = "the demand",
) -> CoordinatePlacing:
    """The map from coordinates to records, chosen by public facts alone.

    Parameters
    ----------
    universe : Space
    crs : anything that pyproj reads, optional
        The coordinate reference system that the caller declares.
    max_snap : float or str, optional
        Largest distance of a record from the nearest point of the universe: "500m", "2 km", "0.3
        mi"; a plain number is in meters where the universe's coordinates have a known unit, else in
        their own units. Records farther away are left out.
    box : sequence of four floats, optional
        A public bounding box of all coordinates: least x, least y, largest x, largest y.
    names : sequence of str
        Names of the columns of coordinates.
    file_crs : str, optional
        The system that the file or table declares.
    geometry : bool
        Whether these are a layer's geometries, which have a system, instead of columns.
    what : str
        Name of the demand in messages.

    Raises
    ------
    InputError
        Systems without a transformation, swapped axes, a universe outside the area of its system or
        of the box, a limit without a unit.
    """
    own = _own_system(universe)
    declared = _declared(crs, crs_text(file_crs), what)
    _check_axes(names, declared, own, universe)
    if own is not None and universe.coordinates is not None:
        check_extent(_placed(universe), own, universe.name)
    move = None
    if declared is not None and own is not None:
        if universe.coordinates is not None:
            check_meets(_placed(universe), own, declared, universe.name, what)
        area = None if universe.coordinates is None else _placed(universe)
        move = transformation(declared, own, area)
    elif declared != own and (geometry or crs is not None):
        lacks = "the universe's (--crs)" if own is None else "the demand's (crs=, --demand-crs)"
        raise InputError(
            f"{what} has {_has(declared)}, and {universe.name} has {_has(own)}: declare {lacks} to "
            f"bring them together"
        )
    limits = _box(box, move, universe)
    place, dimension = universe.placer(max_snap)
    degrees = universe.coordinate_system == "lonlat"
    return CoordinatePlacing(place, dimension, degrees, move, limits)


def _has(crs: str | None) -> str:
    return described(crs) if crs is None else f"the coordinate system {described(crs)}"


def what_declares(names: Sequence[str]) -> str | None:
    """The axes that names of columns state: "lonlat", "latlon" (swapped), or None."""
    folded = [str(name).strip().lower() for name in names]
    if len(folded) != 2:
        return None
    if folded[0] in LON_NAMES or folded[1] in LAT_NAMES:
        return "lonlat"
    return "latlon" if folded[0] in LAT_NAMES or folded[1] in LON_NAMES else None


def _own_system(universe: Space) -> str | None:
    if universe.crs is not None:
        return universe.crs
    return WGS84 if universe.coordinate_system == "lonlat" else None


def _declared(crs: Any, file_crs: str | None, what: str) -> str | None:
    said = crs_text(crs)
    if said is not None and file_crs is not None and said != file_crs:
        raise InputError(
            f"{what} declares {described(file_crs)}, not {described(said)}: leave crs= "
            f"(--demand-crs) out, or correct the file"
        )
    return file_crs if said is None else said


def _check_axes(
    names: Sequence[str], declared: str | None, own: str | None, universe: Space
) -> None:
    """Refuse columns whose names state other axes."""
    said = what_declares(names)
    if said == "latlon":
        raise InputError(
            f"the axes are swapped: x= (--x) names {names[0]!r}, y= (--y) names {names[1]!r}; x is "
            f"the longitude (or easting), y the latitude (or northing)"
        )
    plane = universe.coordinate_system == "xy"
    if said == "lonlat" and declared is None and own is not None and plane:
        raise InputError(
            f"the columns {names[0]!r} and {names[1]!r} are named as longitude and latitude, and "
            f"{universe.name} is in {described(own)}: declare theirs (crs=, --demand-crs "
            f"{WGS84}), and they are transformed"
        )
    if said == "lonlat" and declared is not None and kind_of(declared) != "lonlat":
        raise InputError(
            f"the columns {names[0]!r} and {names[1]!r} are named as longitude and latitude, and "
            f"{described(declared)} has none"
        )


def _placed(universe: Space) -> Floats:
    xy = universe.coordinates
    assert xy is not None
    return np.asarray(xy[np.isfinite(xy).all(axis=1)], np.float64)


def _box(
    box: Any, move: Transformation | None, universe: Space
) -> tuple[float, float, float, float] | None:
    """The stated box, checked to intersect the universe."""
    if box is None:
        return None
    rule = "box must be four numbers: x least, y least, x most, y most"
    edges = floats(box, rule)
    if edges.shape != (4,) or not np.isfinite(edges).all():
        raise InputError(rule)
    if (edges[:2] >= edges[2:]).any():
        raise InputError(f"{rule}, each least one below the most")
    west, south, east, north = edges.tolist()
    if universe.coordinates is not None:
        points = _placed(universe)
        corners = np.array([(x, y) for x in (west, east) for y in (south, north)])
        if not _meet(_moved(corners, move), points):
            swapped = _meet(_moved(corners[:, ::-1], move), points)
            low, high = points.min(axis=0), points.max(axis=0)
            raise InputError(
                f"the stated box does not meet {universe.name}, whose x is {low[0]:.6g} to "
                f"{high[0]:.6g} and y {low[1]:.6g} to {high[1]:.6g}"
                + (": x and y are swapped" if swapped else "")
            )
    return west, south, east, north


def _moved(corners: Floats, move: Transformation | None) -> Floats:
    return corners if move is None else move(corners)


def _meet(corners: Floats, points: Floats) -> bool:
    """Whether the bounding boxes of some corners and of some points intersect."""
    if not np.isfinite(corners).all():
        return False
    low, high = corners.min(axis=0), corners.max(axis=0)
    return bool((low <= points.max(axis=0)).all() and (high >= points.min(axis=0)).all())


def snap_limit(max_snap: Any, universe: Snapping) -> float:
    """The limit in the units in which a finite universe's snapper searches."""
    if isinstance(max_snap, str):
        read = _DISTANCE.fullmatch(max_snap)
        unit = read.group(2).lower() if read else ""
        kind, meters = UNITS.get(unit or "m", ("", 0.0))
        if read is None or kind != "m":
            raise InputError(
                f"max_snap must be a distance such as 500m, 2km, 0.3mi or 1000ft, got "
                f"{shown(max_snap)}"
            )
        number = positive(float(read.group(1)), "max_snap")
        if unit:
            return universe.snap_radius(number * meters)
    else:
        number = positive(max_snap, "max_snap")
    known = universe.coordinate_system == "lonlat" or universe.crs is not None
    return universe.snap_radius(number) if known else number
