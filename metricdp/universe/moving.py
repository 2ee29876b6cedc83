"""Transformations between coordinate reference systems, and units of lengths: by the reader, the
column's name, or coordinates.
"""

import re
import warnings
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.errors import InputError
from metricdp.universe.crs import EARTH_RADIUS, WGS84, described, kind_of, known_crs
from metricdp.universe.graph import Graph
from metricdp.universe.transformation import Transformation

_FAR_OFF = 3.0
"""Degrees by which an extent may exceed a system's area of use."""
_NAMED = {
    "m": r"(?:^|_)(?:m|metres?|meters?)$",
    "km": r"(?:^|_)(?:km|kilomet(?:er|re)s?)$",
    "mi": r"(?:^|_)(?:mi|miles?)$",
    "ft": r"(?:^|_)(?:ft|feet)$",
    "s": r"(?:^|_)(?:s|secs?|seconds?)$",
    "min": r"(?:^|_)(?:min|mins|minutes?)$",
    "h": r"(?:^|_)(?:h|hrs?|hours?)$",
}
"""Endings of a column's name, by unit."""
_TIMES = re.compile(r"time|duration|hops|cost|speed", re.IGNORECASE)
_SAME = 0.03
"""Relative difference up to which a road's length counts as the straight-line distance."""


def meters_per_unit(crs: str | None) -> float | None:
    """Meters in one unit of a planar system's axes; None for degrees and without a system."""
    if crs is None or kind_of(crs) == "lonlat":
        return None
    axes = known_crs(crs).axis_info
    factors = {float(axis.unit_conversion_factor) for axis in axes[:2]}
    return factors.pop() if len(factors) == 1 else None


def projjson(crs: str) -> dict[str, Any] | None:
    """A system in GeoParquet's form (PROJJSON); None without pyproj."""
    if find_spec("pyproj") is None:
        return None
    return dict(known_crs(crs).to_json_dict())


def transformation(source: str, target: str, area: Floats | None = None) -> Transformation | None:
    """The most accurate operation from one system to another; None where they are the same."""
    if source == target:
        return None
    start, end = known_crs(source), known_crs(target)
    if start.equals(end, ignore_axis_order=True):
        return None
    from pyproj.transformer import TransformerGroup

    found = []
    with warnings.catch_warnings(), suppress(Exception):  # pyproj raises several kinds
        warnings.simplefilter("ignore")  # of grids that are not installed
        group = TransformerGroup(start, end, always_xy=True, area_of_interest=_area(area, target))
        found = group.transformers
    if not found:
        raise InputError(f"there is no way from {described(source)} to {described(target)}")
    return Transformation(source, target, found[0].definition)


def check_extent(points: Floats, crs: str, what: str) -> None:
    """Refuse public points far outside their declared system's area of use."""
    use = _area_of_use(points, crs)
    if use is None or _inside(points, crs, use):
        return
    swapped = " (x and y are swapped)" if _inside(points[:, ::-1], crs, use) else ""
    low, high = points.min(axis=0), points.max(axis=0)
    raise InputError(
        f"{what}: its coordinates, x {low[0]:.6g} to {high[0]:.6g} and y {low[1]:.6g} to "
        f"{high[1]:.6g}, cannot be {described(crs)}{swapped}; declare the right system"
    )


def check_meets(points: Floats, crs: str, other: str, name: str, what: str) -> None:
    """Refuse public points wholly outside the area of use of the demand's system (`other`)."""
    use = None if crs == other else _area_of_use(points, other)
    degrees = None if use is None else _degrees(points, crs)
    if use is None or degrees is None:
        return
    (west, south), (east, north) = degrees.min(axis=0), degrees.max(axis=0)
    least_x, least_y, most_x, most_y = use.bounds
    turns = (0.0,) if least_x <= most_x else (0.0, 360.0)
    most_x += 360.0 * (len(turns) - 1)
    low, high = least_x - _FAR_OFF, most_x + _FAR_OFF
    beside = all(west + turn > high or east + turn < low for turn in turns)
    if beside or south > most_y + _FAR_OFF or north < least_y - _FAR_OFF:
        raise InputError(
            f"{what} is in {described(other)}, which is for {use.name.rstrip('.')}, and {name} "
            f"lies elsewhere, at longitude {west:.4g} to {east:.4g} and latitude {south:.4g} to "
            f"{north:.4g}: another town, or the wrong system"
        )


def _area_of_use(points: Floats, crs: str) -> Any:
    """pyproj's area of use of a system; None without pyproj or points."""
    if find_spec("pyproj") is None or not len(points):
        return None
    return known_crs(crs).area_of_use


def _degrees(points: Floats, crs: str) -> Floats | None:
    """The two corners of an extent in degrees; None if these are not finite."""
    corners = np.array([points.min(axis=0), points.max(axis=0)])
    move = transformation(crs, WGS84)
    degrees = corners if move is None else move(corners)
    return degrees if np.isfinite(degrees).all() else None


def _inside(points: Floats, crs: str, use: Any) -> bool:
    """Whether an extent lies in a system's area of use, up to a few degrees."""
    degrees = _degrees(points, crs)
    if degrees is None or (np.abs(degrees) > (180.0 + 1e-9, 90.0 + 1e-9)).any():
        return False
    west, south, east, north = use.bounds
    high = east + 360 if east < west else east
    x = degrees[:, 0] + 360 * ((degrees[:, 0] < west - _FAR_OFF) & (high > 180))
    placed = np.column_stack([x, degrees[:, 1]])
    least, most = np.array([west, south]) - _FAR_OFF, np.array([high, north]) + _FAR_OFF
    return bool(((placed >= least) & (placed <= most)).all())


def lengths_of(lines: Any, crs: str | None) -> Floats:
    """Lengths of lines in meters along the ellipsoid, or in the coordinates' units."""
    import shapely

    if crs is None:
        return np.asarray(shapely.length(lines), np.float64)
    if kind_of(crs) == "lonlat":
        geod = known_crs(crs).get_geod()
        return np.array([geod.geometry_length(line) for line in lines], np.float64)
    return np.asarray(shapely.length(lines), np.float64) * (meters_per_unit(crs) or 1.0)


def _area(points: Floats | None, crs: str) -> Any:
    """The extent of points as PROJ's area of interest."""
    placed = np.empty((0, 2)) if points is None else points[np.isfinite(points).all(axis=1)]
    degrees = _degrees(placed, crs) if len(placed) else None
    if degrees is None:
        return None
    from pyproj.aoi import AreaOfInterest

    return AreaOfInterest(*degrees.min(axis=0), *degrees.max(axis=0))


def unit_of(graph: Graph) -> str | None:
    """The unit of a graph's lengths, such as ``"m"``, if it is known.

    If the column's name has no unit, lengths are in meters or kilometers where a tenth of the edges
    are as long as the straight line between their ends and hardly any are shorter. This holds for
    OSMnx and most road data, not for times or tolls.
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
    """Straight-line distances between the ends of edges in meters, and the edges' lengths."""
    nothing = np.empty(0)
    if graph.coordinates is None:
        return nothing, nothing
    tails = graph.tails()
    start, end = graph.coordinates[tails], graph.coordinates[graph.indices]
    if graph.coordinate_system != "lonlat":
        size = None if graph.crs is None else meters_per_unit(graph.crs)
        return (
            (nothing, nothing)
            if size is None
            else (size * np.hypot(*(end - start).T), graph.lengths)
        )
    away = np.radians(end - start)
    away[:, 0] *= np.cos(np.radians((start[:, 1] + end[:, 1]) / 2))
    return EARTH_RADIUS * np.hypot(*away.T), graph.lengths
