"""Kinds of geographic files, and their headers: layers, columns, coordinate system.

The first bytes *and* the ending of a file must agree on its kind (`file_kind`). GDAL opens files by
content alone, so a text named ``.gpkg`` could make it read other files; here it opens only
Shapefiles and FlatGeobuf. No rows are read here.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from metricdp.arguments import shown
from metricdp.errors import GraphFileError, need
from metricdp.universe import geopackage
from metricdp.universe.crs import WGS84, crs_text

LAYERED = (".gpkg", ".shp", ".fgb")
"""Endings of files with layers, whose headers declare their columns."""
GEOJSON = (".geojson", ".geo.json")
PARQUET = (".parquet", ".pq", ".geoparquet")
_STARTS = {
    ".gpkg": b"SQLite format 3\0",
    ".shp": b"\0\0\x27\x0a\0\0\0\0",
    ".fgb": b"fgb\x03fgb",
    ".geojson": b"{",
    ".parquet": b"PAR1",
}
"""First bytes of each kind of file."""
_DRIVERS = {".shp": "ESRI Shapefile", ".fgb": "FlatGeobuf"}
"""The only driver of GDAL that may open each kind."""


@dataclass(frozen=True)
class Header:
    """Public facts of a layer.

    `names`: of the columns, without the geometry; `geometry`: the declared type of geometries;
    `crs`: the declared coordinate system; `kinds`: types of the columns, as NumPy names them, in a
    GeoPackage as declared.
    """

    names: tuple[str, ...]
    geometry: str | None
    crs: str | None
    kinds: tuple[str, ...]


@cache
def need_geo() -> None:
    """Raise MissingExtraError unless the extra ``geo`` is installed."""
    libraries = ("geopandas", "pyogrio", "pyproj", "shapely")
    need("reading and writing geographic files", "geo", *libraries)


def file_kind(path: str | Path, start: bytes) -> str:
    """The kind of a geographic file, named by its usual ending, from name and first bytes."""
    name = Path(path).name.lower()
    packed = name.endswith(".gz")
    bare = name.removesuffix(".gz")
    kind = next((ending for ending in LAYERED if bare.endswith(ending)), None)
    if kind is not None and packed:
        raise GraphFileError(path, f"unpack it first: a {kind} file is read in place")
    if bare.endswith(GEOJSON):
        kind, start = ".geojson", start.lstrip(b"\xef\xbb\xbf \t\r\n")
    elif kind is None and (bare.endswith(PARQUET) or start.startswith(_STARTS[".parquet"])):
        kind = ".parquet"
    if kind is None:
        known = ", ".join((*LAYERED, *GEOJSON, *PARQUET))
        raise GraphFileError(path, f"is no geographic file by its name: {known}")
    if not start.startswith(_STARTS[kind]):
        raise GraphFileError(path, f"is named {kind}, and does not begin like such a file")
    return kind


def _kind(path: str | Path) -> str:
    """The kind of a file on disk."""
    start = b""
    with suppress(OSError), Path(path).open("rb") as file:
        start = file.read(64)
    return file_kind(path, start)


def layers_of(path: str | Path) -> list[str]:
    """Names of the layers with geometries in a file with layers."""
    need_geo()
    if _kind(path) == ".gpkg":
        return list(geopackage.layers(path))
    from pyogrio import list_layers

    with suppress(Exception):  # GDAL's own errors are of several kinds
        return [str(name) for name, kind in list_layers(str(path)) if kind is not None]
    raise GraphFileError(path, "is not a geographic file that can be read")


def chosen_layer(path: str | Path, asked: str | None, known: list[str]) -> tuple[str, Header]:
    """The layer that is asked for, or the only one, and its header."""
    if not known:
        raise GraphFileError(path, "has no layer with geometries")
    if asked is None and len(known) > 1:
        several = f"has several layers: {', '.join(known)}"
        raise GraphFileError(path, f"{several}; name one (layer=, --layer or --demand-layer)")
    if asked is not None and asked not in known:
        raise GraphFileError(path, f"has no layer {shown(asked)}; layers: {', '.join(known)}")
    name = known[0] if asked is None else asked
    return name, header(path, name)


def header(path: str | Path, layer: str) -> Header:
    """The header of a layer, without its size and extent, which may be private."""
    kind = _kind(path)
    if kind == ".gpkg":
        columns = geopackage.columns(path, layer)
        shape = geopackage.layers(path)[layer][1]
        crs = geopackage.system(path, layer)
        return Header(tuple(columns), shape, crs, tuple(columns.values()))
    from pyogrio import read_info

    facts: Any = None
    with suppress(Exception):
        facts = read_info(str(path), layer=layer)
    if facts is None or facts["driver"] != _DRIVERS.get(kind):
        raise GraphFileError(path, f"layer {shown(layer)} cannot be read")
    fields = tuple(str(name) for name in facts["fields"])
    kinds = tuple(str(kind) for kind in facts["dtypes"])
    return Header(fields, facts["geometry_type"], crs_text(facts["crs"]), kinds)


def geojson_crs(content: dict[str, Any], path: str | Path) -> str:
    """The coordinate system of a GeoJSON file: WGS 84, or that of the old member ``crs``."""
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
    """Name and system of the geometry column in a Parquet file's header; None without one."""
    need("reading Parquet files", "parquet", "pyarrow")
    import pyarrow.parquet as pq

    metadata: Any = None
    with suppress(Exception):
        metadata = pq.read_schema(str(path)).metadata or {}
    if metadata is None:
        raise GraphFileError(path, "is not a readable Parquet file")
    if b"geo" not in metadata:
        return None
    name, column = "", dict[str, Any]()
    with suppress(ValueError, KeyError, TypeError):
        facts = json.loads(metadata[b"geo"])
        name = facts["primary_column"]
        column = facts["columns"][name]
    if column.get("encoding") != "WKB":
        raise GraphFileError(path, "its geometries are not well-known binary (WKB)")
    need_geo()
    if "crs" not in column:
        return name, WGS84  # as the format says
    declared = column["crs"]
    return name, crs_text(json.dumps(declared) if isinstance(declared, dict) else declared)
