"""A clustering in the file that its name's ending asks for: JSON, CSV, GeoJSON, GeoParquet, or one
styled GeoPackage that QGIS opens as a map.

What is written is what was returned, and layers made of it (`metricdp.methods.layers`): public
facts and post-processing of releases.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.arguments import file_path
from metricdp.atomic import whole_file
from metricdp.errors import InputError, MissingExtraError
from metricdp.methods.layers import crs_of, layers_of_result
from metricdp.methods.point_files import write_points
from metricdp.methods.solution import Solution
from metricdp.report import drawing
from metricdp.report.colors import PALETTE
from metricdp.report.styles import qml
from metricdp.universe.geo import need_geo

ENDINGS = (".json", ".csv", ".geojson", ".parquet", ".gpkg")
"""What `write_plan` writes."""


def plan_ending(path: str | os.PathLike[str], universe: Any) -> str:
    """The ending of a path, if a plan of this universe can be written there: asked before anything
    is charged.

    Raises
    ------
    InputError
        Another ending, or one that needs coordinates, or their system, where there are none.
    MissingExtraError
        The extra ``geo`` or ``parquet`` is not installed.
    """
    name = file_path(path, "path").name.lower()
    ending = next((e for e in ENDINGS if name.endswith(e)), None)
    if ending is None:
        page = "; --map writes a page" if name.endswith((".html", ".htm")) else ""
        raise InputError(f"{path}: the ending must be one of {', '.join(ENDINGS)}{page}")
    placed = getattr(universe, "coordinates", None) is not None
    if ending in (".gpkg", ".geojson") and not placed:
        raise InputError(
            f"{path}: {universe.name} has no coordinates, which this ending needs (--nodes FILE); "
            f"without: .json, .csv or .parquet"
        )
    if ending == ".gpkg":
        need_geo()
    if ending == ".geojson":
        check_degrees(universe, path)
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise MissingExtraError("writing Parquet files", "parquet")
    return ending


def check_degrees(universe: Any, path: object) -> None:
    """Refuse GeoJSON, which is always longitude and latitude, of coordinates that are neither and
    in no declared system.
    """
    crs = crs_of(universe)
    if crs is None:
        raise InputError(
            f"{path}: GeoJSON is longitude and latitude, and the coordinates of {universe.name} "
            f"are plane, in no declared coordinate system: declare it (crs=, --crs)"
        )
    if getattr(universe, "coordinate_system", None) != "lonlat":
        need_geo()


def write_plan(path: str | os.PathLike[str], result: Any) -> Path:
    """Write a result of a finite universe, wholly or not at all; links are followed.

    Parameters
    ----------
    path : path
        ``.json``: what the command line prints. ``.csv``, ``.parquet`` (GeoParquet where there are
        coordinates) and ``.geojson`` (always longitude and latitude): a row a center, with the
        points of its territory and, where weights are known, its demand. ``.gpkg``: the layers of
        `metricdp.methods.layers` with styles that QGIS applies by itself, and the receipt as
        metadata and as a table.
    result : Result or Solution
        Of a `Solution`, sites have what they serve as ``load``; areas and streets are those of the
        nearest site.

    Raises
    ------
    InputError, MissingExtraError, OSError
        As `plan_ending`; the file cannot be written.

    Examples
    --------
    >>> import networkx as nx, pathlib, tempfile, metricdp as mdp
    >>> result = mdp.k_median(mdp.GraphMetric(nx.path_graph(5), weight=None), k=1)
    >>> file = write_plan(pathlib.Path(tempfile.mkdtemp()) / "plan.csv", result)
    >>> file.read_text().splitlines()
    ['rank,center,points,demand,mean_distance,distance_unit', '1,2,5,5.0,1.2,hops']
    """
    told = result.to_dict()
    loads = None
    if isinstance(result, Solution):
        loads = [float(load) for load in result.loads.values()]
        result = result.as_result()
    ending = plan_ending(path, result.universe)
    target = Path(os.path.realpath(file_path(path, "path")))
    if ending == ".gpkg":
        _write_geopackage(target, result, told, loads)
    elif ending == ".json":
        with whole_file(target) as file:
            file.write((json.dumps(told, ensure_ascii=False) + "\n").encode())
    else:
        _write_table(target, ending, result, loads)
    return target


def _write_table(target: Path, ending: str, result: Any, loads: list[float] | None) -> None:
    columns = result.to_columns() | ({} if loads is None else {"load": loads})
    places = result.coordinates
    write_points(
        target,
        ending,
        columns,
        places,
        {name: cells for name, cells in columns.items() if name not in ("x", "y", "lon", "lat")},
        geometry=True,
        crs=crs_of(result.universe),
    )


def _write_geopackage(
    target: Path, result: Any, told: dict[str, Any], loads: list[float] | None
) -> None:
    """Made beside the target and moved there once it is whole."""
    layers = layers_of_result(result)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".metricdp.", suffix=".gpkg")
    os.close(handle)
    draft = Path(temporary)
    try:
        draft.unlink()
        facts = {
            "METRICDP_RECEIPT": json.dumps(told["receipt"]),
            "METRICDP_METHOD": str(result.method),
            "METRICDP_K": str(result.k),
            "METRICDP_UNIT": result.universe.measured,
        }
        colors = _colors(layers)
        styles = []
        for name in reversed(layers.names):  # sites last: GDAL lists, and QGIS draws, in this order
            frame = layers.layer(name)
            if len(frame) == 0:
                continue
            if name == "sites" and loads is not None:
                frame["load"] = loads
            if "rank" in frame:
                frame["color"] = [colors[rank - 1] for rank in frame["rank"]]
            _add_layer(draft, name, frame, facts)
            styles.append((name, qml(name, frame)))
        _add_receipt(draft, told)
        _add_styles(draft, styles)
        with whole_file(target) as file:
            file.write(draft.read_bytes())
    finally:
        for left in draft.parent.glob(draft.name + "*"):
            left.unlink(missing_ok=True)


def _colors(layers: Any) -> list[str]:
    """A color for each center, unlike its neighbors'."""
    label, _ = layers.nearest
    position = np.asarray(layers.metric.positions(layers.centers), np.int64)
    plane = drawing.project(layers.metric)
    pairs = drawing.all_edges(layers.metric, plane.points)
    index = drawing.territory_colors(label, pairs, plane.points, position)
    return [PALETTE[i] for i in index.tolist()]


def _add_layer(draft: Path, name: str, frame: Any, facts: dict[str, str]) -> None:
    import pyogrio

    kind = {"territories": "MultiPolygon", "streets": "MultiLineString", "spider": "LineString"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of universes without a system
        pyogrio.write_dataframe(
            frame,
            draft,
            layer=name,
            driver="GPKG",
            geometry_type=kind.get(name, "Point"),
            promote_to_multi=name in ("territories", "streets"),
            append=draft.exists(),
            dataset_metadata=None if draft.exists() else facts,
            dataset_options={"VERSION": "1.2"} if not draft.exists() else {},
        )


_MECHANISM = ("name", "query", "sensitivity", "scale", "epsilon_exact", "delta_exact")


def _add_receipt(draft: Path, told: dict[str, Any]) -> None:
    """The receipt as a table without geometry: a row a mechanism."""
    receipt = told["receipt"]
    mechanisms = receipt["mechanisms"] if receipt else []
    with _opened(draft) as file:
        file.execute(
            "create table receipt (fid integer primary key, mechanism text, query text, "
            "sensitivity integer, scale real, epsilon text, delta text)"
        )
        file.executemany(
            "insert into receipt (mechanism, query, sensitivity, scale, epsilon, delta) "
            "values (?, ?, ?, ?, ?, ?)",
            [tuple(m[name] for name in _MECHANISM) for m in mechanisms],
        )
        file.execute(
            "insert into gpkg_contents (table_name, data_type, identifier, description) "
            "values ('receipt', 'attributes', 'receipt', ?)",
            (json.dumps(receipt),),
        )


_STYLES = """create table layer_styles (
    id integer primary key autoincrement not null, f_table_catalog text(256),
    f_table_schema text(256), f_table_name text(256), f_geometry_column text(256),
    styleName text(30), styleQML text, styleSLD text, useAsDefault boolean, description text,
    owner text(30), ui text(30),
    update_time datetime default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))"""


def _add_styles(draft: Path, styles: list[tuple[str, str]]) -> None:
    """The table that QGIS looks for: it styles the layers as they are opened."""
    with _opened(draft) as file:
        file.execute(_STYLES)
        column = dict(file.execute("select table_name, column_name from gpkg_geometry_columns"))
        file.executemany(
            "insert into layer_styles (f_table_catalog, f_table_schema, f_table_name, "
            "f_geometry_column, styleName, styleQML, styleSLD, useAsDefault, description, owner) "
            "values ('', '', ?, ?, 'metricdp', ?, '', 1, 'metricdp', '')",
            [(name, column[name], text) for name, text in styles],
        )
        file.execute(
            "insert into gpkg_contents (table_name, data_type, identifier) "
            "values ('layer_styles', 'attributes', 'layer_styles')"
        )


class _opened:
    """A database that is committed and closed again."""

    def __init__(self, path: Path) -> None:
        self._file = sqlite3.connect(path)

    def __enter__(self) -> sqlite3.Connection:
        return self._file

    def __exit__(self, kind: Any, *_: Any) -> None:
        finish: Callable[[], None] = self._file.commit if kind is None else self._file.rollback
        finish()
        self._file.close()
