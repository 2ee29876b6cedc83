"""Coordinates of geometries: x and y of a point or a MultiPoint of one, NaN of all others."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.records.ingestion.columns import simplified

AXES = ("geometry.x", "geometry.y")
"""Columns that hold the coordinates of a layer's rows."""
_POINTS = ("Point", "MultiPoint")


def of_shapes(shapes: Any) -> dict[str, Floats]:
    """Columns `AXES` of shapely geometries."""
    import shapely

    cells = np.array(list(shapes), dtype=object)
    alone = shapely.get_num_geometries(cells) == 1
    kinds = shapely.get_type_id(cells)
    first = np.where(alone & (kinds == 4), shapely.get_geometry(cells, 0), cells)
    place = np.array(first, dtype=object)
    place[shapely.is_empty(place)] = None  # GEOS fails on the x of an empty point
    return dict(zip(AXES, (shapely.get_x(place), shapely.get_y(place))))


def of_wkb(cells: Any) -> dict[str, Floats]:
    """Columns `AXES` of geometries in well-known binary; NaN for other bytes."""
    import shapely

    values = cells.to_pylist() if hasattr(cells, "to_pylist") else list(cells)
    # the leading None keeps NumPy from a common type
    plain = np.array([None, *values], dtype=object)[1:]
    return of_shapes(shapely.from_wkb(plain, on_invalid="ignore"))


def of_geojson(features: Sequence[Any]) -> dict[str, Floats]:
    """Columns `AXES` of GeoJSON features, parsed by Python's JSON reader."""
    places = np.array([_place(feature) for feature in features], np.float64)
    places = places.reshape(len(features), 2)  # also of none
    return dict(zip(AXES, (places[:, 0].copy(), places[:, 1].copy())))


def _place(feature: Any) -> tuple[float, float]:
    geometry = feature.get("geometry") if isinstance(feature, dict) else None
    held: dict[str, Any] = geometry if isinstance(geometry, dict) else {}
    kind = held.get("type")
    at = held.get("coordinates") if kind in _POINTS else None
    if kind == "MultiPoint":
        at = at[0] if isinstance(at, list) and len(at) == 1 else None
    if not isinstance(at, list) or len(at) < 2:
        return np.nan, np.nan
    return _number(at[0]), _number(at[1])


def _number(cell: Any) -> float:
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return np.nan
    try:
        return float(cell)
    except (OverflowError, ValueError):
        return np.nan


def properties(features: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Columns of features' properties; None where a feature lacks one."""
    rows = [_properties(feature) for feature in features]
    return {name: [row.get(name) for row in rows] for name in names}


def _properties(feature: Any) -> dict[str, Any]:
    held = feature.get("properties") if isinstance(feature, dict) else None
    return held if isinstance(held, dict) else {}


def block(
    places: dict[str, Floats], columns: dict[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    """The columns `names` of some rows: coordinates, and others from `columns`."""
    return {name: places[name] if name in AXES else simplified(columns[name]) for name in names}
