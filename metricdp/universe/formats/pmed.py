"""OR-Library's uncapacitated p-median files (Beasley, 1985): ``n m p``, then m lines ``i j cost``,
1-based and undirected. Of a repeated edge the last cost counts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from metricdp.errors import GraphFileError
from metricdp.universe.edges import UNIT, EdgeData
from metricdp.universe.formats.format import Columns, File, Format
from metricdp.universe.text import check_promise, numeric_rows, read_text, whole_numbers


def looks_like_pmed(text: str) -> bool:
    """Whether text starts with ``n m p`` and exactly m lines of three numbers follow."""
    lines = [line for line in text.split("\n") if line.strip()]
    header = whole_numbers(lines[0].split()) if lines else []
    if len(header) != 3:
        return False
    n, m, p = header
    return m == len(lines) - 1 and 1 <= p <= n and (m == 0 or len(lines[1].split()) == 3)


def read_pmed(file: File, columns: Columns) -> EdgeData:
    """Parse a p-median file; ids are 1..n."""
    n, m, _ = _header(file.path, file.text)
    lines = enumerate(file.text.split("\n"), 1)
    rows = [(at, line.split()) for at, line in lines if line.strip()][1:]
    if len(rows) != m:
        reason = f"the header promises {m:,} edges, the file has {len(rows):,}"
        raise GraphFileError(file.path, reason)
    check_promise(file.path, n, m)
    shape = f"'i j cost' with i and j in 1..{n}"
    table = numeric_rows(file.path, rows, 3, shape)
    ends = table[:, :2]
    bad = ~((ends >= 1) & (ends <= n) & (ends == np.floor(ends))).all(axis=1)
    if bad.any():
        raise GraphFileError(file.path, f"expected {shape}", rows[int(bad.argmax())][0])
    costs = None if columns.weight == UNIT else table[:, 2].copy()
    tails, heads = ends.astype(np.int64).T - 1
    return EdgeData(tails, heads, costs, range(1, n + 1), False, "last")


def _header(path: str | Path, text: str) -> tuple[int, int, int]:
    cells = text.split("\n", 1)[0].split() or text.split()[:3]
    numbers = whole_numbers(cells)
    if len(numbers) != 3:
        raise GraphFileError(path, "expected the header 'n m p' of three whole numbers", 1)
    n, m, p = numbers
    if not 1 <= p <= n:
        raise GraphFileError(path, f"p must lie in 1..n, got n={n} and p={p}", 1)
    return n, m, p


def read_pmed_p(path: str | Path) -> int:
    r"""Return p, the number of medians that an OR-Library file asks for.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from metricdp.universe import read_pmed_p
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.txt"
    >>> _ = path.write_text("3 2 1\n1 2 30\n2 3 40\n")
    >>> read_pmed_p(path)
    1
    """
    return _header(path, read_text(path))[2]


FORMAT = Format(
    endings=(".pmed",),
    read=read_pmed,
    fits=lambda file: looks_like_pmed(file.text),
    where_it_fits=(".txt", ".dat"),
)
