"""Public sites that a command was given: candidates, sites that stand already, centers to judge."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricdp.cli.streams import read_json
from metricdp.errors import InputError

if TYPE_CHECKING:
    from metricdp.metrics import GraphMetric
    from metricdp.universe.tables import Table

_COLUMNS = ("center", "vertex")
"""Columns of ids, the first that is there: as `metricdp cluster --output` writes them, and ours."""
_WROTE = "centers are read from what `metricdp cluster --output` wrote"
_TABLES = (".gpkg", ".geojson", ".shp", ".fgb", ".parquet", ".pq", ".csv", ".tsv", ".txt")


def read_centers(path: str, metric: GraphMetric, layer: str | None = None) -> list[Any]:
    """Return the centers of a result in any of its files, as ids of the universe."""
    bare = path.lower().removesuffix(".gz")
    if bare.endswith(_TABLES):
        return read_vertices(path, metric, layer)
    if layer is not None:
        raise InputError(f"{path}: has no layers; leave --centers-layer out")
    centers = _of_json(path)
    metric.site_positions(centers)
    return centers


def _of_json(path: str) -> list[Any]:
    parsed = read_json(path, f"; {_WROTE}")
    centers = parsed.get("centers") if isinstance(parsed, dict) else parsed
    if not isinstance(centers, list) or not centers:
        raise InputError(f"{path}: has no list 'centers'; {_WROTE}")
    if any(isinstance(c, bool) or not isinstance(c, str | int | float) for c in centers):
        raise InputError(f"{path}: centers must be vertex ids, numbers or text")
    return centers


def read_vertices(path: str, metric: GraphMetric, layer: str | None = None) -> list[Any]:
    """Public vertex ids from a table, or the vertices nearest to a geographic file's points."""
    from metricdp.records.engines.geographic import is_geographic

    if is_geographic(path):
        return _of_places(path, metric, layer)
    from metricdp.universe.tables import read_table

    table = read_table(path)
    names = list(table.names)
    known = [name for name in _COLUMNS if name in names]
    name = known[0] if known else names[0] if len(names) == 1 else None
    if name is None:
        raise InputError(f"{path}: needs a column 'vertex' or 'center', or only one column")
    ids = list(table.strings(name) if _texts(metric.sites) else table.ids(name))
    return _checked(path, ids, metric)


def _of_places(path: str, metric: GraphMetric, layer: str | None) -> list[Any]:
    from metricdp.universe.formats.format import File
    from metricdp.universe.formats.geographic import layer as opened
    from metricdp.universe.text import read_bytes

    file = File(Path(path), read_bytes(path))
    frame = opened(file, layer, ("sites",))
    column = next((name for name in _COLUMNS if name in frame.columns), None)
    if column is None:
        return _nearest(file, frame, metric)
    cells = frame[column].tolist()
    return _checked(path, [str(c) for c in cells] if _texts(metric.sites) else cells, metric)


def read_areas(path: str, column: str, metric: GraphMetric) -> Any:
    """Public areas, as `metricdp.partitions.areas.Areas.of` takes them: polygons, whose index is
    the column that names them, or a mapping from vertex to name.
    """
    frame = read_polygons(path, column, "--by-column")
    if frame is not None:
        return frame.set_index(column).geometry
    ids, table = read_by_vertex(path, column, metric, " (--by-column)")
    return dict(zip(ids, (name or None for name in table.strings(column))))


def read_polygons(path: str, column: str, option: str) -> Any:
    """Public polygons with a column, or None for a file that is no geographic one."""
    from metricdp.records.engines.geographic import is_geographic

    if not is_geographic(path):
        return None
    from metricdp.universe.formats.format import File
    from metricdp.universe.formats.geographic import layer
    from metricdp.universe.text import read_bytes

    frame = layer(File(Path(path), read_bytes(path)), None)
    if column not in frame.columns:
        raise InputError(f"{path}: has no column {column!r} ({option})")
    return frame


def read_by_vertex(
    path: str, column: str, metric: GraphMetric, option: str = "", of_sites: bool = False
) -> tuple[list[Any], Table]:
    """A public table of a column by vertex: ids of demand points or sites, each once, and it."""
    from metricdp.options import check_distinct
    from metricdp.universe.tables import read_table

    table = read_table(path)
    if not {"vertex", column} <= set(table.names):
        raise InputError(f"{path}: needs the columns 'vertex' and '{column}'{option}")
    known, positions = metric.ids, metric.positions
    if of_sites:
        known, positions = metric.sites, metric.site_positions
    ids = list(table.strings("vertex") if _texts(known) else table.ids("vertex"))
    positions(ids)  # unknown ones are refused
    check_distinct(ids, f"{path}: a vertex is listed once")
    return ids, table


def _nearest(file: Any, frame: Any, metric: GraphMetric) -> list[Any]:
    """Vertices nearest to public sites, each once."""
    import numpy as np

    from metricdp.metrics.placing import placing
    from metricdp.universe.formats.geographic import frame_crs, places_of

    declared = frame_crs(frame, None, file)
    place = placing(metric, geometry=True, file_crs=declared, what=str(file.path))
    at = np.unique(place(places_of(frame, file)))
    return [metric.ids[i] for i in at.tolist()]


def _texts(ids: Iterable[Any]) -> bool:
    return all(isinstance(i, str) for i in ids)


def _checked(path: str, ids: list[Any], metric: GraphMetric) -> list[Any]:
    """Unknown ids are told of before anything is charged."""
    if not ids:
        raise InputError(f"{path}: has no rows")
    metric.site_positions(ids)
    return ids
