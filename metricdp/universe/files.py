"""Reading graph files of all formats, gzipped or not, as validated `Graph` objects; and coordinates
of vertices from tables and from the files of graph formats.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from metricdp.arguments import CRS, chosen, file_path, shown
from metricdp.errors import GraphFileError, InputError
from metricdp.options import flag
from metricdp.universe.crs import crs_text, described, kind_of
from metricdp.universe.edges import ID_NAMES, UNIT, EdgeData, check_coordinates
from metricdp.universe.formats import FORMATS, formats
from metricdp.universe.formats.format import Columns, File, Format, Nodes
from metricdp.universe.graph import CoordinateSystem, Graph
from metricdp.universe.tables import read_table
from metricdp.universe.text import naming, read_bytes

LON_NAMES = ("lon", "longitude", "lng", "long")
LAT_NAMES = ("lat", "latitude")
X_NAMES = ("x", "x_coord", "xcoord", "easting")
Y_NAMES = ("y", "y_coord", "ycoord", "northing")


def read_graph_file(
    path: str | Path,
    *,
    format: str | None = None,
    weight: str | None = None,
    nodes: str | Path | None = None,
    source: str | None = None,
    target: str | None = None,
    layer: str | None = None,
    crs: CRS | None = None,
    topology: str = "ids",
    symmetrize: bool = False,
    largest_component: bool = False,
    directed: bool = False,
) -> Graph:
    """Read a graph file.

    Parameters
    ----------
    path : path-like
        The file, gzipped or not.
    format : str or None
        A name of `metricdp.universe.FORMATS`; None tells by ending and content.
    weight : str or None
        Column or attribute of edge lengths; None looks for the usual names; ``"unit"`` gives every
        edge length 1.
    nodes : path-like or None
        File with vertex ids and coordinates, see `read_nodes`. None uses a DIMACS ``.co`` or TNTP
        ``_node.tntp`` file of the same name. Vertices that it does not list have NaN coordinates.
    source, target : str or None
        Endpoint columns of an edge list.
    layer : str or None
        The layer of a geographic file that has several.
    crs : anything that pyproj reads, or None
        The coordinate reference system of a file that declares none.
    topology : {"ids", "geometry"}
        Whether lines of a geographic file share vertices by columns of vertex ids, if it has them,
        or by their end points.
    symmetrize : bool
        Use the shorter direction both ways where the graph is directed and not symmetric.
    largest_component : bool
        Keep the largest connected component; strongly connected, with `directed`.
    directed : bool
        Keep one-way arcs as they are. Each row of an edge list is one, unless a column ``oneway``
        or ``direction`` says which are.

    Raises
    ------
    GraphFileError
        The file cannot be read in its format; the message has the line, where it is known.
    InputError
        An unknown format or ending, an option that the format does not have, invalid lengths.
    DirectedGraphError, DisconnectedGraphError

    Notes
    -----
    Of repeated edges the last counts in OR-Library files, the shortest in all others. O(size of the
    file + m log m).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "roads.csv"
    >>> _ = file.write_text("from,to,length_m\\na,b,120\\nb,c,80\\n")
    >>> read_graph_file(file)
    Graph('roads.csv', 3 vertices, 2 edges)
    """
    path = file_path(path, "path")
    if format is not None and (not isinstance(format, str) or format not in FORMATS):
        raise InputError(f"unknown graph format {shown(format)}; formats: {', '.join(FORMATS)}")
    for option, column in (("weight", weight), ("source", source), ("target", target)):
        if column is not None and not isinstance(column, str):
            raise InputError(f"{option} must be the name of a column, got {shown(column)}")
    said = crs_text(crs)
    file = File(path, read_bytes(path))
    ways = chosen(topology, ("ids", "geometry"), "topology")
    one_way = flag(directed, "directed")
    columns = Columns(weight, source, target, layer, said, ways, one_way)
    kind = format or _format_of(file)
    _check_options(path, kind, columns)
    with naming(path):
        edges = formats()[kind].read(file, columns)
    beside = file_path(nodes, "nodes") if nodes is not None else _beside(formats()[kind], path)
    if beside is not None:
        edges = edges.with_coordinates(*read_nodes(beside), source=beside)
    edges = _declared(edges, said, path)
    with naming(path):
        return replace(edges, name=path.name).build(
            symmetrize=symmetrize, largest_component=largest_component, one_way=one_way
        )


def _check_options(path: Path, kind: str, columns: Columns) -> None:
    has = formats()[kind].options
    unit = columns.weight in (None, UNIT)
    means = f"so weight={columns.weight!r} means nothing; leave it out, or weight='unit'"
    ends = (columns.source, columns.target)
    lines = columns.topology != "ids"
    for wrong, reason in (
        ("weight" not in has and not unit, f"the format {kind} has no named columns, {means}"),
        (
            "layer" not in has and columns.layer,
            f"the format {kind} has no layers; leave layer= out",
        ),
        ("layer" not in has and lines, f"the format {kind} has no lines; leave topology= out"),
        (lines and ends[0], "source and target name ids; leave topology='geometry' out"),
        (
            "source" not in has and any(ends),
            f"source and target name columns of an edge list; the format here is {kind}",
        ),
        (
            any(ends) and None in ends,
            "name both endpoint columns (source=, target=; --source, --target) or none",
        ),
    ):
        if wrong:
            raise InputError(f"{path}: {reason}")


def _declared(edges: EdgeData, crs: str | None, path: Path) -> EdgeData:
    """Edges with the coordinate system that the caller or the file declares."""
    if crs is None:
        return edges
    if edges.coordinates is None:
        raise InputError(f"{path}: has no coordinates that crs= (--crs) could be about")
    if edges.crs not in (None, crs):
        both = f"declares {described(edges.crs)}, not {described(crs)}"
        raise GraphFileError(path, f"{both}; leave crs= (--crs) out")
    if edges.coordinate_system == "lonlat" and kind_of(crs) != "lonlat":
        raise InputError(
            f"{path}: its columns are named longitude and latitude, which {described(crs)} has not"
        )
    return replace(edges, crs=crs, coordinate_system=kind_of(crs))


def _format_of(file: File) -> str:
    """The format: by unambiguous content, else by ending, else by likely content."""
    known = formats()
    kind = next((name for name, one in known.items() if one.certain(file)), None)
    if kind is not None:
        return kind
    kind = next((name for name, one in known.items() if file.name.endswith(one.endings)), None)
    for name, one in known.items():
        endings = tuple(ending for ending in one.where_it_fits if ending)
        asked = "" in one.where_it_fits if kind is None else file.name.endswith(endings)
        if asked and one.fits(file):
            return name
    if kind is None:
        reason = "cannot tell the graph format by this ending; name it (format=, --format): "
        raise GraphFileError(file.path, reason + ", ".join(FORMATS))
    return kind


def _beside(kind: Format, path: Path) -> Path | None:
    """The file of coordinates with the same stem, if there is one."""
    stem = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    for ending, other in kind.nodes_beside:
        if stem.lower().endswith(ending):
            names = (stem[: -len(ending)] + other + zipped for zipped in ("", ".gz"))
            return next((file for file in map(path.with_name, names) if file.is_file()), None)
    return None


def read_nodes(path: str | Path) -> Nodes:
    r"""Read node ids and coordinates.

    Parameters
    ----------
    path : path-like
        A table with a header that names an id (node_id, id, node, vertex, osmid, name, …) and
        lon/lat (degrees) or x/y (planar; degrees when the id is OSMnx's osmid and the values fit),
        or a DIMACS ``.co``, or a TNTP ``_node.tntp`` file; gzipped or not.

    Raises
    ------
    GraphFileError, InputError
        A header that is missing or does not name these columns (the order of unnamed coordinates is
        not guessed); values out of range.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from metricdp.universe import read_nodes
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "nodes.csv"
    >>> _ = path.write_text("id,lon,lat\na,-71.34,-29.95\nb,-71.25,-29.9\n")
    >>> ids, points, system = read_nodes(path)
    >>> ids, points.shape, system
    (['a', 'b'], (2, 2), 'lonlat')
    """
    file = File(Path(path), read_bytes(path))
    fitting = (one for one in formats().values() if file.name.endswith(one.nodes_endings or "/"))
    found = next((one.nodes(file) for one in fitting), file)
    if not isinstance(found, File):
        with naming(path):
            check_coordinates(*found[1:])
        return found
    table = read_table(path, data=found.data)
    if not table.has_header:
        named = "a nodes file needs a header line that names its columns"
        raise GraphFileError(path, f"{named}, for example 'node_id,lon,lat' or 'id,x,y'")
    known = (table.find(*some) for some in (ID_NAMES, LON_NAMES, LAT_NAMES, X_NAMES, Y_NAMES))
    column, lon, lat, x, y = known
    system: CoordinateSystem = "lonlat" if lon and lat else "xy"
    first, second = (lon, lat) if lon and lat else (x, y)
    if column is None or first is None or second is None:
        what = "columns lon and lat, or x and y"
        what = "id column (node_id, id, node, …)" if column is None else what
        raise GraphFileError(path, f"has no {what}; columns: {', '.join(table.names)}")
    points = np.column_stack([table.numbers(first), table.numbers(second)])
    if column.lower() == "osmid" and len(points) and (np.abs(points) <= (180.0, 90.0)).all():
        system = "lonlat"
    with naming(path):
        check_coordinates(points, system)
    return table.listed(column), points, system
