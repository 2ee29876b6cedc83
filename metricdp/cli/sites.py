"""Reads public sites, areas and tables by vertex: candidates, required sites, given centers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import read_json
from metricdp.errors import InputError

if TYPE_CHECKING:
    from metricdp.metrics.base import Metric
    from metricdp.universe.formats.format import File
    from metricdp.universe.tables import Table

_COLUMNS = ("center", "vertex")
"""Columns of ids, in order of preference; `metricdp cluster --output` writes the first."""
_WROTE = "centers are read from what `metricdp cluster --output` wrote"
_TABLES = (".gpkg", ".geojson", ".shp", ".fgb", ".parquet", ".pq", ".csv", ".tsv", ".txt")


def read_centers(path: str, metric: Metric, layer: str | None = None) -> list[Any]:
    """The centers in any file of a result, as ids of the universe."""
    bare = path.lower().removesuffix(".gz")
    if bare.endswith(_TABLES):
        return read_vertices(path, metric, layer)
    if layer is not None:
        raise InputError(f"{path}: has no layers; leave --centers-layer out")
    parsed = read_json(path, f"; {_WROTE}")
    centers = parsed.get("centers") if isinstance(parsed, dict) else parsed
    if not isinstance(centers, list) or not centers:
        raise InputError(f"{path}: has no list 'centers'; {_WROTE}")
    if any(isinstance(c, bool) or not isinstance(c, str | int | float) for c in centers):
        raise InputError(f"{path}: centers must be vertex ids, numbers or text")
    _check(metric.site_positions, centers, path)
    return centers


def read_options(args: Namespace, names: Iterable[str], metric: Metric) -> dict[str, Any]:
    """Vertices from the files of some options; None for an option that is not given."""
    found: dict[str, Any] = dict.fromkeys(names)
    for name in found:
        path = getattr(args, name)
        if path is not None:
            read = read_centers if path.lower().endswith(".json") else read_vertices
            found[name] = read(path, metric)
    return found


def read_vertices(path: str, metric: Metric, layer: str | None = None) -> list[Any]:
    """Public vertex ids from a table, or the vertices nearest to the points of a geographic file.
    Unknown ids are refused before anything is charged.
    """
    from metricdp.universe.tables import read_table

    read = _geographic(path, layer, ("sites",))
    if read is not None:
        file, frame = read
        column = next((name for name in _COLUMNS if name in frame.columns), None)
        if column is None:
            return _nearest(file, frame, metric)
        ids = _ids(frame[column].tolist(), metric.sites)
    else:
        table = read_table(path)
        known = [name for name in _COLUMNS if name in table]
        name = known[0] if known else table.names[0] if len(table.names) == 1 else None
        if name is None:
            raise InputError(f"{path}: needs a column 'vertex' or 'center', or only one column")
        ids = _ids(table.listed(name), metric.sites)
    if not ids:
        raise InputError(f"{path}: has no rows")
    _check(metric.site_positions, ids, path)
    return ids


def _geographic(
    path: str, layer: str | None = None, usual: tuple[str, ...] = ()
) -> tuple[File, Any] | None:
    """A geographic file and the data frame of its layer; None for other files."""
    from metricdp.records.engines.geographic import is_geographic
    from metricdp.universe.formats import geographic
    from metricdp.universe.formats.format import File
    from metricdp.universe.text import read_bytes

    if not is_geographic(path):
        return None
    file = File(Path(path), read_bytes(path))
    return file, geographic.layer(file, layer, usual)


def read_areas(path: str | None, column: str | None, metric: Metric) -> Any:
    """Public areas for `metricdp.partitions.areas.Areas.of`: polygons indexed by their names, or a
    mapping from vertex to name; None if no file was given.
    """
    if path is None:
        if column is not None:
            raise UsageError("--by-column names a column of --by FILE: give both")
        return None
    column = column or "area"
    frame = read_polygons(path, column, "--by-column")
    if frame is not None:
        return frame.set_index(column).geometry
    ids, table = read_by_vertex(path, column, metric, " (--by-column)")
    return dict(zip(ids, (name or None for name in table.strings(column))))


def read_polygons(path: str, column: str, option: str) -> Any:
    """A data frame of public polygons with a column; None for a file that is not geographic."""
    read = _geographic(path)
    if read is None:
        return None
    if column not in read[1].columns:
        columns = ", ".join(read[1].columns.drop(read[1].geometry.name))
        raise InputError(f"{path}: has no column {column!r} ({option}); columns: {columns}")
    return read[1]


def read_by_vertex(
    path: str,
    column: str,
    metric: Metric,
    option: str = "",
    of_sites: bool = False,
    of_nodes: bool = False,
) -> tuple[list[Any], Table]:
    """Distinct ids of demand points (or sites), and the public table that has a column for them. A
    table of nodes (`of_nodes`) has its usual column of ids, and may list further ones.
    """
    from metricdp.options import check_distinct
    from metricdp.universe.edges import ID_NAMES
    from metricdp.universe.tables import read_table

    table = read_table(path)
    named = table.find(*ID_NAMES) if of_nodes else "vertex" if "vertex" in table.names else None
    if named is None or column not in table.names:
        raise InputError(f"{path}: needs the columns 'vertex' and '{column}'{option}")
    known, positions = metric.ids, metric.positions
    if of_sites:
        known, positions = metric.sites, metric.site_positions
    ids = _ids(table.listed(named), known)
    if not ids:
        raise InputError(f"{path}: has no rows")
    if not of_nodes:
        _check(positions, ids, path)
    check_distinct(ids, f"{path}: a vertex is listed once")
    return ids, table


def _check(positions: Callable[[Iterable[Any]], Any], ids: Iterable[Any], path: str) -> None:
    """Refuse unknown ids, naming their file."""
    from metricdp.universe.text import naming

    with naming(path):
        positions(ids)


def _nearest(file: File, frame: Any, metric: Metric) -> list[Any]:
    """Distinct vertices nearest to public sites."""
    import numpy as np

    from metricdp.metrics.placing import placing
    from metricdp.universe.formats.geographic import places_of

    place = placing(metric, geometry=True, file_crs=frame.crs, what=str(file.path))
    at = np.unique(place(places_of(frame, file)))
    return [metric.ids[i] for i in at.tolist()]


def _ids(cells: Iterable[Any], known: Iterable[Any]) -> list[Any]:
    """Cells of a column as the universe's ids that are written alike: 7 and "7" are one vertex."""
    named = {str(i): i for i in known}
    return [named.get(str(i), i) for i in cells]
