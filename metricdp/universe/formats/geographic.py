"""Lines as edges: GeoPackage (OSMnx's too), GeoJSON, GeoParquet, Shapefile, FlatGeobuf.

A layer with columns of endpoints (u and v, from and to, …) is a table of edges; coordinates come
from a layer of points with ids beside it (OSMnx: ``nodes``), else from the ends of lines. Without
such columns, vertices are the ends of lines. Lengths come from a column, else from the lines, in
meters where the layer has a coordinate system.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.errors import GraphFileError
from metricdp.universe import geo, geopackage
from metricdp.universe.crs import crs_text, kind_of
from metricdp.universe.edges import ID_NAMES, UNIT, EdgeData, index_endpoints, only_length
from metricdp.universe.formats import edgelist
from metricdp.universe.formats.format import Columns, File, Format
from metricdp.universe.moving import lengths_of
from metricdp.universe.tables import Table

_POINTS = ("nodes", "points", "vertices")
_LINES = ("edges", "links", "lines", "roads", "streets")
_LENGTHS = ("length", "length_m", "weight", "cost", "time", "travel_time")


def read_geographic(file: File, columns: Columns) -> EdgeData:
    """Parse a layer of lines."""
    geo.need_geo()
    frame = layer(file, columns.layer, _LINES)
    shapes, table = frame.geometry, _table(file, frame)
    crs = crs_text(frame.crs) or columns.crs  # another declared one is refused by `read_graph_file`
    ends = None if columns.topology == "geometry" else edgelist.known_ends(table, columns)
    if ends is None:
        return _by_places(file, frame, columns, crs)
    edges = _by_ids(file, shapes, table, ends, crs)
    edges = replace(edges, **_lengths(shapes, table, columns, crs, ends))
    return edgelist.with_directions(table, edges, columns)


def layer(file: File, asked: str | None, usual: tuple[str, ...] = ()) -> Any:
    """The GeoDataFrame of a layer: the one asked for, one of a usual name, or the only one."""
    import geopandas
    import pyogrio

    kind = geo.file_kind(file.path, file.data[:64])
    path = str(file.path)
    if kind == ".parquet":
        return _read(file, lambda: geopandas.read_parquet(BytesIO(file.data)))
    if kind == ".geojson":
        return _read(file, lambda: _features(file))
    known = geo.layers_of(path)
    first = next((name for name in known if name.lower() in usual), None)
    asked, _ = geo.chosen_layer(path, asked or (first if len(known) > 1 else None), known)
    if kind == ".gpkg":
        return _read(file, lambda: _table_of(path, asked))
    return _read(file, lambda: pyogrio.read_dataframe(path, layer=asked))


def _features(file: File) -> Any:
    """The frame of a GeoJSON file; ids of features are a column ``id``."""
    import geopandas

    content = json.loads(file.data)
    features = content["features"] if content["type"] == "FeatureCollection" else [content]
    rows = []
    for feature in features:
        held = {"id": feature["id"]} if isinstance(feature.get("id"), str) else {}
        rows.append({**feature, "properties": held | (feature.get("properties") or {})})
    return geopandas.GeoDataFrame.from_features(rows, crs=geo.geojson_crs(content, file.path))


def _table_of(path: str, layer: str) -> Any:
    """A frame of a layer of a GeoPackage."""
    import geopandas
    import shapely

    names = list(geopackage.columns(path, layer))
    held: dict[str, list[Any]] = {name: [] for name in names}
    shapes: list[Any] = []
    for cells, some in geopackage.rows(path, layer, names, 1 << 16):
        shapes += some
        for name in names:
            held[name] += cells[name]
    crs = geopackage.system(path, layer)
    return geopandas.GeoDataFrame(held, geometry=shapely.from_wkb(shapes), crs=crs)


def _read(file: File, work: Callable[[], Any]) -> Any:
    try:
        found = work()
    except Exception as error:  # GDAL and Arrow raise many kinds
        problem = str(error).split("\n")[0][:200]
        reason = f"cannot be read as a geographic file ({problem})"
        raise GraphFileError(file.path, reason) from None
    if getattr(found, "_geometry_column_name", None) is None:
        raise GraphFileError(file.path, "has no geometries")
    return found


def _table(file: File, frame: Any) -> Table:
    """The attributes as a `Table`, like those of edge lists."""
    import pyarrow as pa

    held: dict[str, Any] = {}
    for name in frame.columns.drop(frame.geometry.name):
        column = frame[name]
        if column.dtype == object:
            column = column.map(lambda cell: None if cell is None else str(cell))
        held[str(name)] = pa.array(column, from_pandas=True)
    return Table(file.path, held, len(frame))


def _tips(file: File, shapes: Any) -> tuple[Floats, Floats]:
    """First and last point of each line, shape (n_lines, 2) each."""
    import shapely

    lines = shapely.line_merge(np.asarray(shapes.array, dtype=object))
    if not (shapely.get_type_id(lines) == 1).all() or shapely.is_empty(lines).any():
        bad = int((shapely.get_type_id(lines) != 1).sum())
        raise GraphFileError(
            file.path,
            f"edges are lines, each in one piece; {bad:,} of {len(lines):,} are not. Where columns "
            f"name vertices, topology='geometry' (--topology geometry) passes over them, and takes "
            f"pieces by where they end",
        )
    first, last = shapely.get_point(lines, 0), shapely.get_point(lines, -1)
    return shapely.get_coordinates(first), shapely.get_coordinates(last)


def _pieces(frame: Any) -> tuple[Any, Floats]:
    """A row for every piece of a multi-part line, and each piece's share of its line. Pieces that
    touch are not merged, as lines of other rows may end there too.
    """
    import shapely

    lines = np.asarray(frame.geometry.array, dtype=object)
    parts, row = shapely.get_parts(lines, return_index=True)
    whole = shapely.get_type_id(lines)
    if len(parts) == len(lines) or not np.isin(whole, (1, 5)).all():
        return frame, np.ones(len(frame))
    long = shapely.length(parts)
    every = np.bincount(row, weights=long, minlength=len(lines))[row]
    share = np.divide(long, every, out=np.ones_like(long), where=every > 0)
    made = frame.iloc[row].reset_index(drop=True).set_geometry(parts, crs=frame.crs)
    return made, share


def _by_places(file: File, frame: Any, columns: Columns, crs: str | None) -> EdgeData:
    """Edges whose vertices are the end points of lines, or of their pieces."""
    frame, share = _pieces(frame)
    shapes, table = frame.geometry, _table(file, frame)
    tails, heads = _tips(file, shapes)
    every = np.stack([tails, heads], axis=1).reshape(-1, 2)
    places, first, at = np.unique(every, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.argsort(order)
    ends = rank[at.ravel()].reshape(-1, 2)
    facts = _lengths(shapes, table, columns, crs, ())
    if str(facts["measured"]).startswith("column"):  # the column has lengths of whole lines
        facts["lengths"] = facts["lengths"] * share
    edges = EdgeData(ends[:, 0], ends[:, 1], None, range(len(places)), False)
    where = {"coordinates": places[order], "coordinate_system": _kind(crs), "crs": crs}
    edges = replace(edges, **facts, **where).drawn(list(shapes.array))
    if columns.directed and table.find("direction", "oneway") is None:
        reason = "has no column oneway or direction, so its lines have no directions to keep"
        raise GraphFileError(file.path, f"{reason}; leave directed= (--directed) out")
    return edgelist.with_directions(table, edges, columns)


def _by_ids(
    file: File, shapes: Any, table: Table, ends: tuple[str, str], crs: str | None
) -> EdgeData:
    """Edges by columns of ids; coordinates from a layer of points, else from the ends of lines."""
    tails, heads, ids = index_endpoints(*edgelist.same_kind(table, *ends))
    edges = EdgeData(tails, heads, None, ids, False)
    points = _points(file)
    if points is not None:
        placed = edges.with_coordinates(*points, source=file.path, crs=crs)
        return placed.drawn(list(shapes.array))
    tips = _tips(file, shapes)
    _check_meeting(file, ends, tails, heads, np.stack(tips, axis=1))
    places = np.full((len(ids), 2), np.nan)
    for at, where in zip((tails, heads), tips):
        places[at] = where
    placed = replace(edges, coordinates=places, coordinate_system=_kind(crs), crs=crs)
    return placed.drawn(list(shapes.array))


def _check_meeting(
    file: File, names: tuple[str, str], tails: Ints, heads: Ints, tips: Floats
) -> None:
    """Refuse ids of vertices if for most of them no point is an end of all their lines."""
    line, at = np.tile(np.arange(len(tails)), 2), np.r_[tails, heads]
    near = np.median(np.linalg.norm(tips[:, 0] - tips[:, 1], axis=1))
    first = line[np.unique(at, return_index=True)[1]]
    several = np.bincount(at) > 1
    separate = several.copy()
    for place in (tips[first, 0], tips[first, 1]):
        away = np.linalg.norm(tips[line] - place[at][:, None], axis=2).min(axis=1) > near
        separate &= np.bincount(at, away) > 0
    if 2 * separate.sum() > several.sum():
        raise GraphFileError(
            file.path,
            f"{separate.sum():,} of {several.sum():,} vertices that the columns {names[0]!r} and "
            f"{names[1]!r} name are nowhere: their lines do not meet (were lines cut since?); "
            f"topology='geometry' (--topology geometry) joins lines by where they end",
        )


def _points(file: File) -> tuple[list[Any], Floats, Any] | None:
    """Ids and coordinates from a layer of points beside the lines; None without one."""
    if not file.name.endswith(geo.LAYERED):
        return None
    name = next((n for n in geo.layers_of(file.path) if n.lower() in _POINTS), None)
    if name is None:
        return None
    frame = layer(file, name)
    table = _table(file, frame)
    column = table.find("osmid", *ID_NAMES)
    if column is None:
        return None
    where = places_of(frame, file)
    return table.listed(column), where, _kind(crs_text(frame.crs))


def places_of(frame: Any, file: File) -> Floats:
    """Coordinates of a public layer of points, shape (n, 2)."""
    import shapely

    shapes = np.asarray(frame.geometry.array, dtype=object)
    if not ((shapely.get_type_id(shapes) == 0) & ~shapely.is_empty(shapes)).all():
        raise GraphFileError(file.path, "its geometries must be points")
    return np.asarray(shapely.get_coordinates(shapes))


def _kind(crs: str | None) -> Any:
    return "xy" if crs is None else kind_of(crs)


def _lengths(
    shapes: Any, table: Table, columns: Columns, crs: str | None, ends: tuple[str, ...]
) -> dict[str, Any]:
    """Lengths of the edges, and their meaning in words."""
    if columns.weight == UNIT and UNIT not in table:
        return {"lengths": None, "measured": "hops"}
    named = columns.weight
    if named is None:
        known = (n for n in table.names if n.strip().lower() in _LENGTHS and n not in ends)
        named = only_length(table.path, list(known))
    if named is not None:
        return {"lengths": table.numbers(named), "measured": f"column {named!r}"}
    own = "the lines' own, in " + ("coordinate units" if crs is None else "meters")
    return {"lengths": lengths_of(np.asarray(shapes.array), crs), "measured": own}


def _certain(file: File) -> bool:
    if file.data[:4] == b"PAR1":
        tail = file.data[-1_000_000:]
        return b'"primary_column"' in tail
    return file.data[:15] == b"SQLite format 3"


FORMAT = Format(
    endings=(*geo.LAYERED, *geo.GEOJSON),
    read=read_geographic,
    options=frozenset({"weight", "source", "target", "layer", "crs"}),
    certain=_certain,
)
