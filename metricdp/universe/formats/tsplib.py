"""TSPLIB's point sets (Reinelt, ORSA Journal on Computing 3, 1991): a header of ``KEY : value``,
then ``NODE_COORD_SECTION`` with a node a line.
"""

from pathlib import Path

import numpy as np

from metricdp.arguments import Floats
from metricdp.errors import GraphFileError
from metricdp.universe.text import read_text


def read_points(path: Path) -> Floats:
    """Points of a TSPLIB file with two coordinates a node."""
    header, _, body = read_text(path).partition("NODE_COORD_SECTION")
    kind = header.partition("EDGE_WEIGHT_TYPE")[2].lstrip(" :\t").split("\n")[0].strip()
    if not body or kind not in ("EUC_2D", "CEIL_2D"):
        raise GraphFileError(path, "expected a TSPLIB file of type EUC_2D with NODE_COORD_SECTION")
    size = header.partition("DIMENSION")[2].lstrip(" :\t").split("\n")[0].strip()
    lines = body.partition("EOF")[0].split("\n")
    try:
        points = np.array([[float(x) for x in line.split()[1:3]] for line in lines if line.strip()])
    except ValueError:
        points = np.empty((0, 0))
    if points.ndim != 2 or points.shape != (int(size) if size.isdigit() else -1, 2):
        raise GraphFileError(path, f"expected {size[:20]} nodes with two coordinates each")
    if not np.isfinite(points).all():
        raise GraphFileError(path, "coordinates must be finite")
    return points
