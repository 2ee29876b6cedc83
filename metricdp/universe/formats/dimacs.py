"""9th DIMACS challenge (http://www.diag.uniroma1.it/challenge9/format.shtml): directed graphs
``.gr`` (``a tail head length``), coordinates ``.co`` (``v id x y``), 1-based.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from metricdp.arrays import Floats
from metricdp.errors import GraphFileError
from metricdp.universe.edges import UNIT, EdgeData
from metricdp.universe.formats.format import Format
from metricdp.universe.graph import CoordinateSystem
from metricdp.universe.text import check_promise, is_number, whole_numbers


def read_dimacs(path: str | Path, text: str, weight: str | None = None) -> EdgeData:
    """Parse a ``.gr`` file, about 2·10^6 arcs a second; ids are 1..n."""
    lines = text.split("\n")
    problem = next((i for i, line in enumerate(lines) if line.startswith("p")), None)
    words = lines[problem].split() if problem is not None else []
    promised = whole_numbers(words[2:]) if len(words) == 4 and words[1] == "sp" else []
    if not promised:
        raise GraphFileError(
            path, "expected a line 'p sp n m'", None if problem is None else problem + 1
        )
    n, m = promised
    table = _tagged(path, lines, "a", 3, "'a tail head length'")
    if len(table) != m:
        raise GraphFileError(path, f"the 'p' line promises {m:,} arcs, the file has {len(table):,}")
    check_promise(path, n, m)
    ends = table[:, :2]
    if m and not (ends.min() >= 1 and ends.max() <= n and (ends == np.floor(ends)).all()):
        raise GraphFileError(path, f"tails and heads must be whole numbers in 1..{n}")
    tails, heads = (ends.astype(np.int64) - 1).T
    lengths = None if weight == UNIT else np.ascontiguousarray(table[:, 2])
    return EdgeData(tails, heads, lengths, range(1, n + 1), True)


def read_dimacs_coordinates(
    path: str | Path, text: str
) -> tuple[list[int], Floats, CoordinateSystem]:
    """Parse a ``.co`` file: (ids, points, coordinate system).

    Whole numbers that fit longitude and latitude times 10^6 are micro-degrees, as in the
    challenge's road networks, unless they look like projected meters (0 <= x < 10^6 and 0 <= y <
    10^7, as in UTM); all else is planar.
    """
    table = _tagged(path, text.split("\n"), "v", 3, "'v id x y'")
    if not len(table):
        raise GraphFileError(path, "has no line 'v id x y'")
    if not ((table[:, 0] == np.floor(table[:, 0])) & (np.abs(table[:, 0]) < 2**53)).all():
        raise GraphFileError(path, "ids must be whole numbers below 2^53")
    ids = table[:, 0].astype(np.int64).tolist()
    points = table[:, 1:]
    x, y = points.T
    fits = (
        (np.abs(x) <= 180e6).all()
        and (np.abs(y) <= 90e6).all()
        and (points == np.floor(points)).all()
    )
    projected = (x >= 0).all() and (x < 1e6).all() and (y >= 0).all() and (y < 1e7).all()
    if fits and not projected:
        return ids, points / 1e6, "lonlat"
    return ids, np.ascontiguousarray(points), "xy"


def _tagged(path: str | Path, lines: list[str], tag: str, width: int, shape: str) -> Floats:
    """Numbers of the lines that start with a tag, comments apart."""
    mark = tag + " "
    rows = [line[2:] for line in lines if line[:2] == mark]
    others = [line for line in lines if line[:2] != mark and line.strip() and line[0] not in "cp"]
    table: Floats | None = None
    if not others and any(map(str.strip, rows)):
        try:
            table = np.loadtxt(rows, dtype=np.float64, comments=None, ndmin=2)
        except ValueError:
            table = None
    if not others and not rows:
        return np.zeros((0, width))
    if table is not None and table.shape == (len(rows), width):
        return table
    for at, line in enumerate(lines, 1):
        words = line.split()
        proper = len(words) == width + 1 and words[0] == tag and all(map(is_number, words[1:]))
        if words and words[0][0] not in "cp" and not proper:
            raise GraphFileError(
                path, f"expected {shape} with numbers, or a line starting with 'c' or 'p'", at
            )
    raise GraphFileError(path, f"cannot be read as lines {shape}")


FORMAT = Format(
    endings=(".gr",),
    read=lambda file, columns: read_dimacs(file.path, file.text, columns.weight),
    fits=lambda file: b"\np sp " in b"\n" + file.data[:20_000],
    where_it_fits=("",),
    nodes_beside=((".gr", ".co"),),
    nodes_endings=(".co",),
    nodes=lambda file: read_dimacs_coordinates(file.path, file.text),
)
