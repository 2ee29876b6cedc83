"""METIS ``.graph`` files (manual 5.1.0, Section 4.1.1): ``n m [fmt [ncon]]``, then the neighbors of
each vertex, 1-based, each edge at both ends.
"""

from pathlib import Path

import numpy as np

from metricdp.errors import GraphFileError
from metricdp.universe.edges import UNIT, EdgeData
from metricdp.universe.formats.format import Columns, File, Format
from metricdp.universe.text import check_promise, vertex_positions, whole_numbers


def read_metis(file: File, columns: Columns) -> EdgeData:
    """Parse a METIS file; ids are 1..n, an empty line is an isolated vertex."""
    path = file.path
    numbered = enumerate(file.text.split("\n"), 1)
    lines = [(at, line) for at, line in numbered if not line.lstrip().startswith("%")]
    while lines and not lines[0][1].strip():
        lines.pop(0)
    n, m, skip, weighted = _header(path, *lines[0]) if lines else (0, 0, 0, False)
    lines = lines[1:]
    while len(lines) > n and not lines[-1][1].strip():
        lines.pop()
    if len(lines) > n:
        reason = f"the header promises {n:,} vertices, the file has {len(lines):,} lines for them"
        raise GraphFileError(path, reason)
    width = 2 if weighted else 1
    numbers: list[float] = []
    degrees = np.zeros(len(lines), np.int64)
    for vertex, (at, line) in enumerate(lines):
        cells = line.split()
        rest = cells[skip:]
        if len(cells) < skip or len(rest) % width:
            pairs = "pairs of neighbor and weight" if weighted else "neighbors"
            raise GraphFileError(path, f"expected {skip} vertex numbers, then {pairs}", at)
        degrees[vertex] = len(rest) // width
        try:
            numbers += map(float, rest)
        except ValueError:
            raise GraphFileError(path, "expected numbers", at) from None
    if degrees.sum() != 2 * m:
        short = f" on {len(lines):,} of {n:,} lines" if len(lines) < n else ""
        promised = f"the header promises {m:,} edges ({2 * m:,} neighbors)"
        raise GraphFileError(path, f"{promised}, the file has {degrees.sum():,} neighbors{short}")
    check_promise(path, n, m)
    values = np.array(numbers, dtype=np.float64)
    rule = f"neighbors must be whole numbers in 1..{n}"
    heads = vertex_positions(path, values[::width], n, rule)
    tails = np.repeat(np.arange(len(lines)), degrees)
    lengths = values[1::2].copy() if weighted and columns.weight != UNIT else None
    return EdgeData(tails, heads, lengths, range(1, n + 1), True)


def _header(path: str | Path, at: int, line: str) -> tuple[int, int, int, bool]:
    """n, m, how many leading numbers of each line to skip, and whether edges have weights."""
    cells = line.split()
    numbers = whole_numbers(cells)
    if not 2 <= len(numbers) <= 4:
        raise GraphFileError(path, "expected the header 'n m [fmt [ncon]]' of whole numbers", at)
    fmt = (cells[2] if len(cells) > 2 else "0").zfill(3)
    if len(fmt) != 3 or set(fmt) - {"0", "1"}:
        raise GraphFileError(path, f"fmt must be three digits 0 or 1, got {cells[2]!r}", at)
    sizes, weights, edge_weights = (d == "1" for d in fmt)
    constraints = numbers[3] if len(numbers) > 3 else 1
    return numbers[0], numbers[1], sizes + weights * constraints, edge_weights


FORMAT = Format(endings=(".graph", ".metis"), read=read_metis)
