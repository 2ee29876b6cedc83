"""Writes points to CSV, GeoJSON and (Geo)Parquet files."""

import csv
import io
import json
import struct
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.arguments import Floats, chosen, file_path
from metricdp.atomic import write_whole
from metricdp.errors import InputError, need
from metricdp.universe.crs import WGS84
from metricdp.universe.geo import need_geo
from metricdp.universe.moving import projjson, transformation

ENDINGS = (".csv", ".geojson", ".parquet")
Columns = dict[str, list[Any]]


def checked_ending(
    path: str | PathLike[str],
    coordinates: Floats | None,
    what: str = "coreset",
    crs: str | None = None,
) -> str:
    """The ending of a path, after a check that points with these coordinates can be saved so."""
    ending = file_path(path, "path").suffix.lower()
    chosen(ending, ENDINGS, f"the ending of a {what}'s file")
    if ending == ".geojson" and (coordinates is None or coordinates.shape[1] != 2):
        raise InputError(
            "GeoJSON needs points with coordinates in the plane: save as .csv or .parquet, or "
            "give the universe coordinates"
        )
    check_writable(path, ending, crs)
    return ending


def check_writable(path: object, ending: str, crs: str | None) -> None:
    """Refuse GeoJSON without a declared coordinate system, and formats whose library is missing."""
    if ending == ".geojson":
        if crs is None:
            raise InputError(
                f"{path}: GeoJSON is longitude and latitude, and the coordinates are plane, in no "
                f"declared coordinate system: declare it (crs=, --crs), or choose another ending"
            )
        transformation(crs, WGS84)
    if ending == ".gpkg":
        need_geo()
    if ending == ".tif":
        need("writing GeoTIFF", "geo", "rasterio")
    if ending == ".parquet":
        need("writing Parquet files", "parquet", "pyarrow")
    if ending == ".png":
        need("drawing", "plots", "matplotlib")


def write_points(
    path: str | PathLike[str],
    ending: str,
    columns: Columns,
    places: Floats | None,
    properties: Columns,
    *,
    geometry: bool = False,
    crs: str | None = None,
) -> Path:
    """Write a table of points atomically; return the path."""
    if ending == ".csv":
        content = _csv(columns)
    elif ending == ".geojson":
        move = None if crs is None else transformation(crs, WGS84)
        degrees = np.asarray(places) if move is None else move(np.asarray(places))
        content = _geojson(degrees, properties)
    else:
        content = _parquet(columns, places if geometry else None, crs)
    return write_whole(file_path(path, "path"), content)


def _csv(columns: Columns) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values()))
    return text.getvalue().encode("utf-8")


def _geojson(places: Floats, properties: Columns) -> bytes:
    features = []
    for at, values in zip(places, zip(*properties.values())):
        place = {"type": "Point", "coordinates": at.tolist()} if np.isfinite(at).all() else None
        fields = dict(zip(properties, values))
        features.append({"type": "Feature", "geometry": place, "properties": fields})
    collection = {"type": "FeatureCollection", "features": features}
    plain = lambda name: name.item() if isinstance(name, np.generic) else str(name)  # noqa: E731
    return json.dumps(collection, default=plain, ensure_ascii=False).encode("utf-8")


def _parquet(columns: Columns, places: Floats | None, crs: str | None) -> bytes:
    import pyarrow
    import pyarrow.parquet

    columns = dict(columns)
    for key in ("vertex", "center"):
        kinds = {type(name) for name in columns.get(key, [])}
        long = kinds == {int} and max(map(abs, columns[key])) >= 1 << 63
        if long or len(kinds) > 1 or not kinds <= {str, int, float}:
            columns[key] = [str(name) for name in columns[key]]
    table = pyarrow.table(columns)
    if places is not None:
        table = _with_geometry(table, places, crs)
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


def _with_geometry(table: Any, places: Floats, crs: str | None) -> Any:
    """The table with a column of points and the metadata of GeoParquet 1.0."""
    import pyarrow

    points = [struct.pack("<BIdd", 1, 1, *at) if np.isfinite(at).all() else None for at in places]
    table = table.append_column("geometry", pyarrow.array(points, pyarrow.binary()))
    column: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Point"]}
    if crs != WGS84:  # the format's default
        column["crs"] = None if crs is None else projjson(crs)
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": column}}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), "geo": json.dumps(geo)})
