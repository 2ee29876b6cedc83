"""Coordinates of vertices from files: tables with named columns, DIMACS ``.co``, TNTP
``_node.tntp``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import GraphFileError
from metricdp.universe.edges import check_coordinates
from metricdp.universe.formats.dimacs import read_dimacs_coordinates
from metricdp.universe.graph import CoordinateSystem
from metricdp.universe.tables import read_table
from metricdp.universe.text import bare_name, decode, naming, read_bytes

ID_NAMES = (
    "node_id",
    "id",
    "node",
    "vertex",
    "vertex_id",
    "osmid",
    "osm_id",
    "name",
    "node_number",
    "label",
)
LON_NAMES = ("lon", "longitude", "lng", "long")
LAT_NAMES = ("lat", "latitude")
X_NAMES = ("x", "x_coord", "xcoord", "easting")
Y_NAMES = ("y", "y_coord", "ycoord", "northing")


def read_nodes(path: str | Path) -> tuple[list[Any], NDArray[np.float64], CoordinateSystem]:
    """Read node ids and coordinates.

    Parameters
    ----------
    path : path-like
        A table with a header that names an id (node_id, id, node, vertex, osmid, name, …) and
        lon/lat (degrees) or x/y (planar; degrees when the id is OSMnx's osmid and the values fit),
        or a DIMACS ``.co``, or a TNTP ``_node.tntp`` file; gzipped or not.

    Returns
    -------
    ids : list, length n_nodes
    points : ndarray of float64, shape (n_nodes, 2)
    system : {"lonlat", "xy"}

    Raises
    ------
    GraphFileError, InputError
        A header that is missing or does not name these columns (the order of unnamed coordinates is
        not guessed); values out of range.
    """
    data, name = read_bytes(path), bare_name(path)
    if name.endswith(".co"):
        ids, points, system = read_dimacs_coordinates(path, decode(data, path))
        with naming(path):
            check_coordinates(points, system)
        return ids, points, system
    if name.endswith(".tntp"):
        rows = (line.strip(" \t~;") for line in decode(data, path).split("\n"))
        data = "\n".join(r.replace("\t", " ") for r in rows if r and not r.startswith("<")).encode()
    table = read_table(path, data=data)
    if not table.has_header:
        example = "for example 'node_id,lon,lat' or 'id,x,y'"
        raise GraphFileError(
            path, f"a nodes file needs a header line that names its columns, {example}"
        )
    column, lon, lat = table.find(*ID_NAMES), table.find(*LON_NAMES), table.find(*LAT_NAMES)
    x, y = table.find(*X_NAMES), table.find(*Y_NAMES)
    system = "lonlat" if lon and lat else "xy"
    first, second = (lon, lat) if lon and lat else (x, y)
    if column is None or first is None or second is None:
        what = (
            "id column (node_id, id, node, …)"
            if column is None
            else "columns lon and lat, or x and y"
        )
        raise GraphFileError(path, f"has no {what}; columns: {', '.join(table.names)}")
    points = np.column_stack([table.numbers(first), table.numbers(second)])
    if column.lower() == "osmid" and len(points) and (np.abs(points) <= (180.0, 90.0)).all():
        system = "lonlat"
    with naming(path):
        check_coordinates(points, system)
    keys = table.ids(column)
    return (keys.tolist() if isinstance(keys, np.ndarray) else list(keys)), points, system
