"""Writes a clustering in the format of a file's ending: JSON, CSV, GeoJSON, GeoPackage, …"""

import json
import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.arguments import file_path
from metricdp.atomic import drafted, write_whole
from metricdp.errors import InputError
from metricdp.report import drawing
from metricdp.report.colors import PALETTE, ramp
from metricdp.report.layers import check_sited, crs_of
from metricdp.report.point_files import check_writable, write_points
from metricdp.report.styles import colored, project_row, qml

ENDINGS = (".json", ".csv", ".geojson", ".parquet", ".gpkg", ".html", ".png")
_DRAWN = ("sites", "demand", "spider", "streets", "territories")
"""Layers from top to bottom, as QGIS stacks them, with the project or without."""
_PLACED = (".gpkg", ".geojson", ".png", ".tif")
"""Endings that need coordinates in the plane."""


def plan_ending(path: str | os.PathLike[str], universe: Any) -> str:
    """The ending of a path, after a check, before any charge, that a plan can be written so."""
    ending = ending_of(path, universe, ENDINGS)
    if ending == ".html":
        check_sited(universe)
    return ending


def ending_of(path: str | os.PathLike[str], universe: Any, endings: Sequence[str]) -> str:
    """The one of these endings that a path has, after a check that this universe can be written
    so.
    """
    name = file_path(path, "path").name.lower()
    ending = next((e for e in endings if name.endswith(e)), None)
    if ending is None:
        raise InputError(f"{path}: the ending must be one of {', '.join(endings)}")
    placed = getattr(universe, "coordinates", None) is not None
    if ending in _PLACED and not placed and getattr(universe, "dimension", None) != 2:
        raise InputError(
            f"{path}: {universe.name} has no coordinates in the plane, which this ending needs "
            f"(--nodes FILE); .csv, .parquet and .html need none"
        )
    check_writable(path, ending, crs_of(universe))
    return ending


def write_plan(
    path: str | os.PathLike[str], plan: Any, firm: Any, bands: Any, page: dict[str, Any]
) -> Path:
    """Write a solution, its stability and its bands: `metricdp.Solution.save`."""
    ending = plan_ending(path, plan.universe)
    target = file_path(path, "path")
    if ending == ".gpkg":
        _write_geopackage(target, plan, firm, bands)
    elif ending in (".csv", ".geojson", ".parquet"):
        columns, places = plan.to_columns(), plan.coordinates
        planar = places is not None and places.shape[1] == 2
        own = {n: cells for n, cells in columns.items() if n not in ("x", "y", "lon", "lat")}
        where = places if planar else None
        write_points(target, ending, columns, where, own, geometry=True, crs=crs_of(plan.universe))
    elif ending == ".png":
        write_whole(target, figure_bytes(plan))
    elif ending == ".html":
        write_whole(target, plan.page(stability=firm is not None, **page))
    else:
        facts = plan.to_dict() | extra_facts(firm, bands)
        write_whole(target, json.dumps(facts, ensure_ascii=False) + "\n")
    return target


def add_layers(
    draft: Path, layers: Iterable[tuple[str, Any, str]], facts: dict[str, str]
) -> list[tuple[str, str]]:
    """Write layers, given as (name, GeoDataFrame, style), to a GeoPackage; the first one creates
    it, with the metadata `facts`. Returns names and styles.
    """
    import pyogrio

    areas, lines = ("territories", "bands"), ("streets", "band_streets")
    kind = dict.fromkeys(areas, "MultiPolygon") | dict.fromkeys(lines, "MultiLineString")
    kind |= dict.fromkeys(("spider", "heat_streets"), "LineString")
    new: dict[str, Any] = {"dataset_metadata": facts, "dataset_options": {"VERSION": "1.2"}}
    styles = []
    with warnings.catch_warnings():
        # pyogrio warns of layers without a coordinate reference system
        warnings.simplefilter("ignore")
        for name, frame, style in layers:
            how = {"append": True} if draft.exists() else new
            how |= {"geometry_type": kind.get(name, "Point"), "driver": "GPKG"}
            how["promote_to_multi"] = name in areas + lines
            pyogrio.write_dataframe(frame, draft, layer=name, **how)
            styles.append((name, style))
    _add_styles(draft, styles)
    return styles


def extra_facts(firm: Any, bands: Any) -> dict[str, Any]:
    """JSON-ready stability and bands."""
    facts = {} if firm is None else {"stability": firm.to_dict()}
    return facts if bands is None else facts | {"bands": bands.to_columns()}


def figure_bytes(plan: Any) -> bytes:
    """The picture of `plot` as PNG; without pyplot, which would keep the figure alive."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 8))
    FigureCanvasAgg(figure)
    plan.plot(figure.subplots())
    content = BytesIO()
    figure.savefig(content, format="png", dpi=150, bbox_inches="tight")
    return content.getvalue()


def _write_geopackage(target: Path, plan: Any, firm: Any, bands: Any) -> None:
    content, layers = plan.to_dict(), plan.layers()
    with drafted(target) as draft:
        facts = {
            "METRICDP_RECEIPT": json.dumps(content["receipt"]),
            "METRICDP_METHOD": str(plan.method),
            "METRICDP_OBJECTIVE": plan.objective.name,
            "METRICDP_K": str(plan.k),
            "METRICDP_UNIT": layers.metric.measured,
        }
        colors = _colors(layers)
        found = list[tuple[str, Any, str]]()
        for name in (n for n in _DRAWN if n in layers.names):
            frame = layers.layer(name)
            if "rank" in frame:
                frame["color"] = [colors[rank - 1] for rank in frame["rank"]]
            if name == "sites" and firm is not None:
                frame = frame.assign(**firm.to_columns())
            if len(frame):
                found.append((name, frame, qml(name, frame)))
        below = [i for i, (name, *_) in enumerate(found) if name in ("streets", "territories")]
        found[min(below) : min(below)] = band_layers(bands)
        styles = add_layers(draft, found, facts)
        _add_receipt(draft, content)
        known = layers.xy[np.isfinite(layers.xy).all(axis=1)]
        box = np.r_[known.min(axis=0), known.max(axis=0)]
        _add_project(draft, project_row(target.name, styles, box, crs_of(layers.metric)))


def _colors(layers: Any) -> list[str]:
    """A color for each center; those of adjacent territories differ."""
    label, _ = layers.nearest
    plane = drawing.project(layers.metric)
    pairs = drawing.all_edges(layers.metric, plane.points)
    index = drawing.territory_colors(label, pairs, plane.points, layers.sites)
    return [PALETTE[i] for i in index.tolist()]


def band_layers(bands: Any) -> Iterator[tuple[str, Any, str]]:
    """The layers of `Bands`, if there are any, with names and styles."""
    if bands is None:
        return
    for name, layer, kind in (("band_streets", "streets", "line"), ("bands", "areas", "fill")):
        if name == "bands" or bands.metric.graph is not None:
            frame = bands.to_geopandas(layer)
            frame = frame.assign(color=ramp(len(frame)))
            yield name, frame[~frame.geometry.isna()], colored(kind)


_MECHANISM = ("name", "query", "sensitivity", "scale", "epsilon_exact", "delta_exact")
_COLUMNS = ("mechanism", "query", "sensitivity", "scale", "epsilon", "delta")
"""Entries of a mechanism on a receipt, and the columns for them."""


def _add_receipt(draft: Path, facts: dict[str, Any]) -> None:
    """Add the receipt as a table without geometry, one row for each mechanism."""
    import pandas as pd
    import pyogrio

    receipt = facts["receipt"]
    rows = pd.DataFrame(receipt["mechanisms"] if receipt else [], columns=list(_MECHANISM))
    rows = rows.astype({"sensitivity": "int64", "scale": "float64"}).set_axis(_COLUMNS, axis=1)
    how = {"append": True, "driver": "GPKG", "layer": "receipt"}
    pyogrio.write_dataframe(rows, draft, **how, layer_options={"DESCRIPTION": json.dumps(receipt)})


_STYLES = """create table layer_styles (
    id integer primary key autoincrement not null, f_table_catalog text(256),
    f_table_schema text(256), f_table_name text(256), f_geometry_column text(256),
    styleName text(30), styleQML text, styleSLD text, useAsDefault boolean, description text,
    owner text(30), ui text(30),
    update_time datetime default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))"""


def _add_styles(draft: Path, styles: list[tuple[str, str]]) -> None:
    """Add the table by which QGIS styles layers when they are opened."""
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
    """Add a QGIS project, in a table that is not listed as a layer."""
    with _opened(draft) as file:
        file.execute(
            "create table qgis_projects (name text primary key, metadata blob, content blob)"
        )
        file.execute("insert into qgis_projects values (?, ?, ?)", row)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that is committed unless the block raises, then closed."""
    with closing(sqlite3.connect(path)) as file, file:
        yield file
