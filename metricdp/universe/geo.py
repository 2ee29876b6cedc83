"""What the header of a geographic file says: layers, columns, the coordinate reference system.

Nothing here reads a row, so it may be asked about private files too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metricdp.arguments import shown
from metricdp.errors import GraphFileError, InputError, MissingExtraError
from metricdp.universe.crs import WGS84, crs_text

GDAL = (".gpkg", ".shp", ".fgb")
"""Endings of files that GDAL reads by the types that their headers declare."""
GEOJSON = (".geojson", ".geo.json")
PARQUET = (".parquet", ".pq", ".geoparquet")


@dataclass(frozen=True)
class Header:
    """Public facts of a layer.

    Attributes
    ----------
    names : tuple of str
        Of the columns, without that of geometries.
    geometry : str or None
        What the layer declares its geometries to be.
    crs : str or None
    kinds : tuple of str
        Types of NumPy of the columns.
    """

    names: tuple[str, ...]
    geometry: str | None
    crs: str | None
    kinds: tuple[str, ...]


@cache
def need_geo() -> None:
    """Raise MissingExtraError unless the extra ``geo`` is installed."""
    for library in ("geopandas", "pyogrio", "pyproj", "shapely"):
        if find_spec(library) is None:
            raise MissingExtraError("reading and writing geographic files", "geo")


def layers_of(path: str | Path) -> list[str]:
    """Names of the layers with geometries of a file that GDAL reads.

    Raises
    ------
    GraphFileError
        It is no such file.
    """
    need_geo()
    from pyogrio import list_layers

    found = None
    try:
        found = list_layers(str(path))
    except Exception:  # GDAL's own errors are of several kinds
        found = None
    if found is None:
        raise GraphFileError(path, "is not a geographic file that can be read")
    return [str(name) for name, kind in found if kind is not None]


def chosen_layer(path: str | Path, asked: str | None, known: list[str]) -> tuple[str, Header]:
    """The layer that is asked for, or the only one, and what its header says.

    Raises
    ------
    GraphFileError
        No such layer, none at all, or several and none named: they are listed.
    """
    if not known:
        raise GraphFileError(path, "has no layer with geometries")
    if asked is None and len(known) > 1:
        raise GraphFileError(
            path, f"has several layers: {', '.join(known)}; name one (layer=, --layer)"
        )
    if asked is not None and asked not in known:
        raise GraphFileError(path, f"has no layer {shown(asked)}; layers: {', '.join(known)}")
    name = known[0] if asked is None else asked
    return name, header(path, name)


def header(path: str | Path, layer: str) -> Header:
    """What a layer's header says: its size and its extent are not asked for."""
    from pyogrio import read_info

    facts: Any = None
    try:
        facts = read_info(str(path), layer=layer)
    except Exception:
        facts = None
    if facts is None:
        raise GraphFileError(path, f"layer {shown(layer)} cannot be read")
    fields = tuple(str(name) for name in facts["fields"])
    kinds = tuple(str(kind) for kind in facts["dtypes"])
    return Header(fields, facts["geometry_type"], crs_text(facts["crs"]), kinds)


def geojson_crs(content: dict[str, Any], path: str | Path) -> str:
    """The system of a GeoJSON file: longitude and latitude, or what the older standard's member
    ``crs`` names.
    """
    member = content.get("crs")
    if member is None:
        return WGS84
    properties = member.get("properties") if isinstance(member, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    found = crs_text(name) if isinstance(name, str) else None
    if found is None:
        raise GraphFileError(path, "has a member 'crs' that names no coordinate system")
    return found


def geoparquet_column(path: str | Path) -> tuple[str, str | None] | None:
    """Name and system of the column of geometries that a Parquet file's header names, if it does.

    Raises
    ------
    GraphFileError
        Its header cannot be read, or the geometries are not well-known binary.
    MissingExtraError
        pyarrow is not installed.
    """
    if find_spec("pyarrow") is None:
        raise MissingExtraError("reading Parquet files", "parquet")
    import pyarrow.parquet as pq

    metadata: Any = None
    try:
        metadata = pq.read_schema(str(path)).metadata or {}
    except Exception:
        metadata = None
    if metadata is None:
        raise GraphFileError(path, "is not a readable Parquet file")
    if b"geo" not in metadata:
        return None
    facts: Any = None
    try:
        facts = json.loads(metadata[b"geo"])
        name = facts["primary_column"]
        column = facts["columns"][name]
    except (ValueError, KeyError, TypeError):
        facts = None
    if facts is None or column.get("encoding") != "WKB":
        raise GraphFileError(path, "its geometries are not well-known binary (WKB)")
    need_geo()
    if "crs" not in column:
        return name, WGS84  # as the format says
    declared = column["crs"]
    return name, crs_text(json.dumps(declared) if isinstance(declared, dict) else declared)


__all__ = ["GDAL", "GEOJSON", "PARQUET", "Header", "InputError", "chosen_layer", "geojson_crs"]
