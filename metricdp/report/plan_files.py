"""A clustering as a file, by ending: JSON, CSV, GeoJSON, GeoParquet, or GeoPackage."""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.arguments import file_path
from metricdp.atomic import drafted, whole_file
from metricdp.errors import InputError, MissingExtraError
from metricdp.report import drawing
from metricdp.report.colors import PALETTE, ramp
from metricdp.report.layers import crs_of
from metricdp.report.point_files import write_points
from metricdp.report.styles import colored, project_row, qml
from metricdp.universe.geo import need_geo

ENDINGS = (".json", ".csv", ".geojson", ".parquet", ".gpkg", ".html", ".png")
_DRAWN = ("sites", "demand", "spider", "streets", "territories")
"""Layers from top to bottom: so QGIS stacks them, with its project or without."""
_PLACED = (".gpkg", ".geojson", ".png")
"""What `write_plan` writes."""


def plan_ending(path: str | os.PathLike[str], universe: Any) -> str:
    """The ending of a path, if a plan can be written there: asked before a charge."""
    name = file_path(path, "path").name.lower()
    ending = next((e for e in ENDINGS if name.endswith(e)), None)
    if ending is None:
        raise InputError(f"{path}: the ending must be one of {', '.join(ENDINGS)}")
    placed = getattr(universe, "coordinates", None) is not None
    if ending in _PLACED and not placed and getattr(universe, "dimension", None) != 2:
        raise InputError(
            f"{path}: {universe.name} has no coordinates in the plane, which this ending needs "
            f"(--nodes FILE); without: .json, .csv, .parquet or .html"
        )
    if ending == ".gpkg":
        need_geo()
    if ending == ".geojson":
        check_degrees(universe, path)
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise MissingExtraError("writing Parquet files", "parquet")
    if ending == ".png" and find_spec("matplotlib") is None:
        raise MissingExtraError("drawing", "plots")
    return ending


def check_degrees(universe: Any, path: object) -> None:
    """Refuse GeoJSON of coordinates that are neither degrees nor in a declared system."""
    crs = crs_of(universe)
    if crs is None:
        raise InputError(
            f"{path}: GeoJSON is longitude and latitude, and the coordinates of {universe.name} "
            f"are plane, in no declared coordinate system: declare it (crs=, --crs)"
        )
    if getattr(universe, "coordinate_system", None) != "lonlat":
        need_geo()


def write_plan(
    path: str | os.PathLike[str], plan: Any, firm: Any, bands: Any, page: dict[str, Any]
) -> Path:
    """Write a solution, its stability and its bands: `metricdp.Solution.save`."""
    ending = plan_ending(path, plan.universe)
    target = Path(os.path.realpath(file_path(path, "path")))
    if ending == ".gpkg":
        _write_geopackage(target, plan, firm, bands)
    elif ending in (".csv", ".geojson", ".parquet"):
        _write_table(target, ending, plan)
    else:
        if ending == ".html":
            content = plan.page(stability=firm is not None, **page).encode()
        else:
            content = figure_bytes(plan) if ending == ".png" else _json(plan, firm, bands)
        with whole_file(target) as file:
            file.write(content)
    return target


def more_told(firm: Any, bands: Any) -> dict[str, Any]:
    """What JSON has of stability and bands."""
    told = {} if firm is None else {"stability": firm.to_dict()}
    return told if bands is None else told | {"bands": bands.to_columns()}


def _json(plan: Any, firm: Any, bands: Any) -> bytes:
    told = plan.to_dict() | more_told(firm, bands)
    return (json.dumps(told, ensure_ascii=False) + "\n").encode()


def figure_bytes(plan: Any) -> bytes:
    """What `plot` draws, as PNG; without pyplot, which would keep the figure."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("drawing", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 8))
    FigureCanvasAgg(figure)
    plan.plot(figure.subplots())
    content = BytesIO()
    figure.savefig(content, format="png", dpi=150, bbox_inches="tight")
    return content.getvalue()


def _write_table(target: Path, ending: str, plan: Any) -> None:
    columns = plan.to_columns()
    places = plan.coordinates
    planar = places is not None and places.shape[1] == 2
    write_points(
        target,
        ending,
        columns,
        places if planar else None,
        {name: cells for name, cells in columns.items() if name not in ("x", "y", "lon", "lat")},
        geometry=True,
        crs=crs_of(plan.universe),
    )


def _write_geopackage(target: Path, plan: Any, firm: Any, bands: Any) -> None:
    told, layers = plan.to_dict(), plan.layers()
    with drafted(target) as draft:
        facts = {
            "METRICDP_RECEIPT": json.dumps(told["receipt"]),
            "METRICDP_METHOD": str(plan.method),
            "METRICDP_OBJECTIVE": plan.objective.name,
            "METRICDP_K": str(plan.k),
            "METRICDP_UNIT": layers.metric.measured,
        }
        colors = _colors(layers)
        styles = []
        for name in (n for n in _DRAWN if n in layers.names):
            frame = layers.layer(name)
            if len(frame) == 0:
                continue
            if "rank" in frame:
                frame["color"] = [colors[rank - 1] for rank in frame["rank"]]
            if name == "sites" and firm is not None:
                frame = frame.assign(**firm.to_columns())
            _add_layer(draft, name, frame, facts)
            styles.append((name, qml(name, frame)))
        below = [i for i, (name, _) in enumerate(styles) if name in ("streets", "territories")]
        styles[min(below) : min(below)] = add_bands(draft, bands, facts)
        _add_receipt(draft, told)
        add_styles(draft, styles)
        known = layers.xy[np.isfinite(layers.xy).all(axis=1)]
        box = np.r_[known.min(axis=0), known.max(axis=0)]
        _add_project(draft, project_row(target.name, styles, box, crs_of(layers.metric)))


def _colors(layers: Any) -> list[str]:
    """A color for each center, unlike its neighbors'."""
    label, _ = layers.nearest
    plane = drawing.project(layers.metric)
    pairs = drawing.all_edges(layers.metric, plane.points)
    index = drawing.territory_colors(label, pairs, plane.points, layers.sites)
    return [PALETTE[i] for i in index.tolist()]


def _add_layer(draft: Path, name: str, frame: Any, facts: dict[str, str]) -> None:
    import pyogrio

    areas, lines = ("territories", "bands"), ("streets", "band_streets")
    kind = dict.fromkeys(areas, "MultiPolygon") | dict.fromkeys(lines, "MultiLineString")
    kind["spider"] = "LineString"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of universes without a system
        pyogrio.write_dataframe(
            frame,
            draft,
            layer=name,
            driver="GPKG",
            geometry_type=kind.get(name, "Point"),
            promote_to_multi=name in areas + lines,
            append=draft.exists(),
            dataset_metadata=None if draft.exists() else facts,
            dataset_options={"VERSION": "1.2"} if not draft.exists() else {},
        )


def add_bands(draft: Path, bands: Any, facts: dict[str, str]) -> list[tuple[str, str]]:
    """Write the layers of `Bands`, if there are any; returns their names and styles."""
    styles = []
    if bands is not None:
        for name, kind in (("band_streets", "line"), ("bands", "fill")):
            if name == "bands" or bands.metric.graph is not None:
                frame = bands.to_geopandas("areas" if name == "bands" else "streets")
                frame = frame.assign(color=ramp(len(frame)))
                _add_layer(draft, name, frame[~frame.geometry.isna()], facts)
                styles.append((name, colored(kind)))
    return styles


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


def add_styles(draft: Path, styles: list[tuple[str, str]]) -> None:
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


def _add_project(draft: Path, row: tuple[str, str, str]) -> None:
    """The project that QGIS finds in the file, in a table that is none of its layers."""
    with _opened(draft) as file:
        file.execute(
            "create table qgis_projects (name text primary key, metadata blob, content blob)"
        )
        file.execute("insert into qgis_projects values (?, ?, ?)", row)


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
