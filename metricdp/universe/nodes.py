"""Coordinates of vertices from files: tables with named columns, and what graph formats have."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from metricdp.errors import GraphFileError
from metricdp.universe.edges import ID_NAMES, check_coordinates
from metricdp.universe.formats import formats
from metricdp.universe.formats.format import File, Nodes
from metricdp.universe.graph import CoordinateSystem
from metricdp.universe.tables import read_table
from metricdp.universe.text import naming, read_bytes

LON_NAMES = ("lon", "longitude", "lng", "long")
LAT_NAMES = ("lat", "latitude")
X_NAMES = ("x", "x_coord", "xcoord", "easting")
Y_NAMES = ("y", "y_coord", "ycoord", "northing")


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
