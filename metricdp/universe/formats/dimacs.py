"""9th DIMACS challenge (http://www.diag.uniroma1.it/challenge9/format.shtml): directed graphs
``.gr`` (``a tail head length``), coordinates ``.co`` (``v id x y``), 1-based.
"""

from contextlib import suppress
from pathlib import Path

import numpy as np

from metricdp.arguments import Floats
from metricdp.errors import GraphFileError
from metricdp.universe.edges import UNIT, EdgeData
from metricdp.universe.formats.format import Columns, File, Format, Nodes
from metricdp.universe.text import check_promise, numeric_rows, vertex_positions, whole_numbers


def read_dimacs(file: File, columns: Columns) -> EdgeData:
    """Parse a ``.gr`` file, about 2·10^6 arcs a second; ids are 1..n."""
    path, lines = file.path, file.text.split("\n")
    problem = next((i for i, line in enumerate(lines) if line.lstrip().startswith("p")), None)
    words = [] if problem is None else lines[problem].split()
    promised = whole_numbers(words[2:]) if len(words) == 4 and words[1] == "sp" else []
    if not promised:
        line = None if problem is None else problem + 1
        raise GraphFileError(path, "expected a line 'p sp n m'", line)
    n, m = promised
    table = _tagged(path, lines, "a", "'a tail head length'")
    if len(table) != m:
        raise GraphFileError(path, f"the 'p' line promises {m:,} arcs, the file has {len(table):,}")
    check_promise(path, n, m)
    rule = f"tails and heads must be whole numbers in 1..{n}"
    tails, heads = vertex_positions(path, table[:, :2], n, rule).T
    lengths = None if columns.weight == UNIT else np.ascontiguousarray(table[:, 2])
    return EdgeData(tails, heads, lengths, range(1, n + 1), True)


def read_dimacs_coordinates(file: File) -> Nodes:
    """Parse a ``.co`` file: (ids, points, coordinate system).

    Whole numbers that fit longitude and latitude times 10^6 are micro-degrees, as in the
    challenge's road networks, unless they look like projected meters (0 <= x < 10^6 and 0 <= y <
    10^7, as in UTM); all else is planar.
    """
    path = file.path
    table = _tagged(path, file.text.split("\n"), "v", "'v id x y'")
    if not len(table):
        raise GraphFileError(path, "has no line 'v id x y'")
    if not ((table[:, 0] == np.floor(table[:, 0])) & (np.abs(table[:, 0]) < 2**53)).all():
        raise GraphFileError(path, "ids must be whole numbers below 2^53")
    ids = table[:, 0].astype(np.int64).tolist()
    points = table[:, 1:]
    x, y = points.T
    fits = (np.abs(points) <= (180e6, 90e6)).all() and (points == np.floor(points)).all()
    projected = (points >= 0).all() and (x < 1e6).all() and (y < 1e7).all()
    if fits and not projected:
        return ids, points / 1e6, "lonlat"
    return ids, np.ascontiguousarray(points), "xy"


def _tagged(path: str | Path, lines: list[str], tag: str, shape: str) -> Floats:
    """Three numbers of each line that starts with a tag, comments left out."""
    mark = tag + " "
    rows = [line[2:] for line in lines if line[:2] == mark]
    others = [line for line in lines if line[:2] != mark and line.strip() and line[0] not in "cp"]
    if not others and any(map(str.strip, rows)):
        with suppress(ValueError):
            table = np.loadtxt(rows, dtype=np.float64, comments=None, ndmin=2)
            if table.shape == (len(rows), 3):
                return table
    words = ((at, line.split()) for at, line in enumerate(lines, 1))
    content = [(at, cells) for at, cells in words if cells and cells[0][0] not in "cp"]
    careful = [(at, cells[1:] if cells[0] == tag else []) for at, cells in content]
    rule = f"{shape} with numbers, or a line starting with 'c' or 'p'"
    return numeric_rows(path, careful, 3, rule)


FORMAT = Format(
    endings=(".gr",),
    read=read_dimacs,
    fits=lambda file: b"\np sp " in b"\n" + file.data[:20_000],
    where_it_fits=("",),
    nodes_beside=((".gr", ".co"),),
    nodes_endings=(".co",),
    nodes=read_dimacs_coordinates,
)
