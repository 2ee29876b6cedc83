"""Reading public tables: CSV, TSV, blank-separated and Parquet files."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.errors import GraphFileError, need
from metricdp.universe.text import bare_name, comma_in, decode, has_codes, is_number, read_bytes

Column = Ints | Floats | list[str]

_EXACT = 2.0**53  # integers below this survive float64


@dataclass(eq=False, repr=False)
class Table:
    """Named columns of equal length; types are found when a column is used.

    Attributes
    ----------
    path : path-like
        The table's file, for messages.
    columns : dict of str to ndarray or list of str
        Numeric columns as arrays, others as text cells.
    n_rows : int
    has_header : bool
        False if the columns are named "1", "2", … without a header.
    lines : sequence of int
        Line number of each row, for messages; empty for files without lines.
    text : frozenset of str
        Columns declared as text (Parquet strings), which become numbers only on request.
    written : callable
        The same table with every cell as it is written, where a file was read as numbers.

    Examples
    --------
    >>> from metricdp.universe import Table
    >>> table = Table("stops.csv", {"stop": ["a1", "02139"], "lon": ["-71.3", "-71.2"]}, 2)
    >>> table["stop"], table["lon"]
    (['a1', '02139'], array([-71.3, -71.2]))
    """

    path: str | Path
    columns: dict[str, Any]
    n_rows: int
    has_header: bool = field(default=True, kw_only=True)
    lines: Sequence[int] = field(default=(), kw_only=True)
    text: frozenset[str] = field(default=frozenset(), kw_only=True)
    written: Callable[[], Table] | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return self.n_rows

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __repr__(self) -> str:
        return f"Table({str(self.path)!r}, {self.names}, {self.n_rows:,} rows)"

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return list(self.columns)

    def find(self, *candidates: str) -> str | None:
        """The first column with a candidate's name, ignoring case; None if none."""
        folded: dict[str, str] = {}
        for name in self.columns:
            folded.setdefault(name.strip().lower(), name)
        return next((folded[c] for c in candidates if c in folded), None)

    def __getitem__(self, name: str) -> Column:
        """Return a column: int64 if all cells are integers, float64 if all are numbers, else a list
        of str.

        Raises
        ------
        GraphFileError
            There is no such column, or its Parquet type is neither number nor text.
        """
        cells = self._raw(name)
        return cells if isinstance(cells, np.ndarray) or name in self.text else _typed(cells)

    def ids(self, name: str) -> Ints | list[Any]:
        """Return a column of vertex or user ids: int64, or a list of int, float or str.

        Numbers written as ``02139``, ``1e3`` or ``1.10`` are text, so that ids stay the user's own.

        Raises
        ------
        GraphFileError
            There is no such column, or a cell is empty.
        """
        column = self[name]
        if isinstance(column, list):
            if "" in column:
                raise self._bad_cell(column.index(""), f"column {name!r} has an empty cell")
            return column
        if column.dtype.kind == "f":
            empty = np.isnan(column)
            if empty.any():
                reason = f"column {name!r} has an empty cell or NaN"
                raise self._bad_cell(int(empty.argmax()), reason)
            if (np.abs(column) < _EXACT).all() and (column == np.floor(column)).all():
                return column.astype(np.int64)
            cells = self.strings(name)
            return column.tolist() if cells == list(map(str, column.tolist())) else cells
        return column.astype(np.int64, copy=False)

    def listed(self, name: str) -> list[Any]:
        """Ids as a list of Python's own values."""
        column = self.ids(name)
        return column.tolist() if isinstance(column, np.ndarray) else column

    def numbers(self, name: str) -> Floats:
        """Return a column as float64.

        Raises
        ------
        GraphFileError
            There is no such column, or a cell is not a number.
        """
        cells = self._raw(name)
        if isinstance(cells, np.ndarray):
            return cells.astype(np.float64)
        values = _floats(cells)
        if values is None:
            bad = next(i for i, c in enumerate(cells) if not is_number(c))
            shown = f", not {cells[bad]!r}" if cells[bad] else "; one cell is empty"
            shown += comma_in([cells[bad]])
            raise self._bad_cell(bad, f"column {name!r} must hold numbers{shown}")
        return values

    def strings(self, name: str) -> list[str]:
        """Return a column as stripped text cells; integers and Parquet's numbers as Python writes
        them.
        """
        cells = self._raw(name)
        if isinstance(cells, np.ndarray) and cells.dtype.kind == "f" and self.written is not None:
            return self.written().strings(name)
        return list(map(str, cells.tolist())) if isinstance(cells, np.ndarray) else cells

    def _bad_cell(self, row: int, reason: str) -> GraphFileError:
        return GraphFileError(self.path, reason, self.lines[row] if self.lines else None)

    def _raw(self, name: str) -> Any:
        if name not in self.columns:
            known = ", ".join(self.names)
            raise GraphFileError(self.path, f"no column {name!r}; columns: {known}")
        cells = self.columns[name]
        if not isinstance(cells, np.ndarray | list):  # an Arrow column, converted on demand
            cells = _from_arrow(cells)
            if cells is None:
                reason = f"column {name!r} is of a type that is neither number nor text"
                raise GraphFileError(self.path, reason)
            self.columns[name] = cells
        return cells


def read_table(path: str | Path, *, min_fields: int = 1, data: bytes | None = None) -> Table:
    r"""Read a CSV, TSV, blank-separated or Parquet file, gzipped or not.

    A first row with a cell that is not a number is the header; without one the columns are named
    "1", "2", …. The delimiter is the most frequent of comma, tab, semicolon and bar in the first
    row, else blanks. Blank lines are skipped, as are lines starting with ``#`` or ``%``.

    Parameters
    ----------
    min_fields : int
        Leading lines with fewer fields are skipped: 2 for edge lists, some of which start with a
        title or an address.
    data : bytes or None
        The content, if it was read already.

    Raises
    ------
    GraphFileError
        Missing, empty, damaged or non-UTF-8 file; rows of differing width (with the line number);
        repeated column names; bad quotes.
    MissingExtraError
        Parquet without pyarrow.

    Notes
    -----
    O(size of the file); files of numbers only go through NumPy's parser, some 4·10^6 rows of three
    columns a second.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from metricdp.universe import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "roads.csv"
    >>> _ = path.write_text("from,to,length\n1,2,0.5\n2,3,1.5\n")
    >>> read_table(path).numbers("length")
    array([0.5, 1.5])
    """
    data = read_bytes(path) if data is None else data
    if data[:4] == b"PAR1" or bare_name(path).endswith((".parquet", ".pq")):
        return _read_parquet(path, data)
    lines = decode(data, path).split("\n")
    start, delimiter = _first_row(lines, bare_name(path).endswith(".csv"), min_fields)
    if start is None:
        raise GraphFileError(path, "the file has no rows")
    first = [""]  # a quoted cell with a line break is no number: a mistake is found below
    with suppress(csv.Error):
        first = next(_rows(lines[start : start + 1], delimiter))[1]
    header = not all(map(is_number, first))
    body = lines[start + header :]
    block = None if any(map(_is_comment, body)) else _numeric_block(body, delimiter)
    if block is not None and block.shape[1] == len(first):
        names = _column_names(first if header else None, len(first), path)
        columns: dict[str, Any] = {n: _narrowed(block[:, j]) for j, n in enumerate(names)}
        written = cache(partial(_as_written, path, data, start, delimiter))
        return Table(path, columns, len(block), has_header=header, written=written)
    return _read_cells(path, lines, start, delimiter)


def _as_written(path: str | Path, data: bytes, start: int, delimiter: str | None) -> Table:
    """A file of numbers with its cells as text: read once, if it is asked for."""
    return _read_cells(path, decode(data, path).split("\n"), start, delimiter)


def _first_row(lines: list[str], is_csv: bool, min_fields: int) -> tuple[int | None, str | None]:
    """Index of the first row and its delimiter; None stands for blanks."""
    chosen: str | None
    for at, line in enumerate(lines):
        if not line.strip() or _is_comment(line):
            continue
        bare = re.sub(r'"[^"]*"', "q", line)
        found = max(",\t;|", key=bare.count)
        if found in bare:
            fields, chosen = bare.count(found) + 1, found
        elif is_csv and min_fields == 1:
            fields, chosen = 1, ","
        else:
            fields = len(bare.split())
            chosen = None if '"' not in line else " " if fields > 1 else ","
        if fields >= min_fields:
            return at, chosen
    return None, None


def _numeric_block(body: list[str], delimiter: str | None) -> Floats | None:
    """All rows as one float64 array by NumPy's parser, or None."""
    sample = next((line for line in body if line.strip()), "")
    if not sample or not all(map(is_number, sample.split(delimiter))):
        return None
    try:
        block = np.loadtxt(body, dtype=np.float64, delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        return None
    # long integers, which float64 would round, and ids such as 007 and 1e3 must stay text
    if (np.abs(block) >= _EXACT).any() or has_codes("\n".join(body)):
        return None
    return block


def _narrowed(column: Floats) -> Floats | Ints:
    with np.errstate(invalid="ignore"):
        whole = column.astype(np.int64)
    return whole if np.array_equal(whole, column) else np.ascontiguousarray(column)


def _column_names(cells: list[str] | None, width: int, path: str | Path) -> list[str]:
    if cells is None:
        return [str(j + 1) for j in range(width)]
    numbers = ("" if str(j + 1) in cells else str(j + 1) for j in range(width))
    names = [c or number or f"column {j + 1}" for j, (c, number) in enumerate(zip(cells, numbers))]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise GraphFileError(path, f"two columns are named {twice!r}")
    return names


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", "%"))


def _rows(lines: list[str], delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    """Each row of a text table: number of its last line, from 1, and its stripped cells."""
    if delimiter is None or not any('"' in line for line in lines):
        for number, line in enumerate(lines, 1):
            if line.strip() and not _is_comment(line):
                yield number, list(map(str.strip, line.split(delimiter)))
        return
    texts = (line + "\n" for line in lines)  # blank lines and marks of comments may be in a cell
    reader = csv.reader(texts, delimiter=delimiter, skipinitialspace=True, strict=True)
    begins = 0
    for row in reader:
        if (len(row) > 1 or (row and row[0].strip())) and not _is_comment(lines[begins]):
            yield reader.line_num, list(map(str.strip, row))
        begins = reader.line_num


def _read_cells(path: str | Path, lines: list[str], start: int, delimiter: str | None) -> Table:
    """The table with every cell as text; refuses rows of different width."""
    numbers: list[int] = []
    rows: list[list[str]] = []
    try:
        for number, row in _rows(lines[start:], delimiter):
            numbers.append(start + number)
            rows.append(row)
            if len(row) != len(rows[0]):
                reason = f"this row has {len(row)} fields, the first has {len(rows[0])}"
                raise GraphFileError(path, reason, numbers[-1])
    except csv.Error:
        line = (numbers[-1] if numbers else start) + 1
        reason = "unbalanced or misplaced quotes in the row that starts here"
        raise GraphFileError(path, reason, line) from None
    header = not all(map(is_number, rows[0]))
    names = _column_names(rows[0] if header else None, len(rows[0]), path)
    cells = zip(*rows[header:]) if rows[header:] else [()] * len(names)
    columns: dict[str, Any] = {n: list(column) for n, column in zip(names, cells)}
    n_rows = len(rows) - header
    return Table(path, columns, n_rows, has_header=header, lines=numbers[header:])


def _floats(cells: list[str]) -> Floats | None:
    try:
        values = np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        return None
    return None if any("_" in c for c in cells) else values


def _typed(cells: list[str]) -> Column:
    whole: list[int] = []
    with suppress(ValueError):
        whole = list(map(int, cells))
    if list(map(str, whole)) == cells and all(-(2**63) <= v < 2**63 for v in whole):
        return np.array(whole, dtype=np.int64)
    values = _floats(cells)
    if values is None or has_codes("\n".join(cells)):
        return cells
    return cells if whole and (np.abs(values) >= _EXACT).any() else values


def _read_parquet(path: str | Path, data: bytes) -> Table:
    need("reading Parquet files", "parquet", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = None
    with suppress(pa.ArrowException, OSError, ValueError):
        read = pq.read_table(pa.BufferReader(data))
        read.validate(full=True)  # text that is not UTF-8 would fail later, in words that quote it
        table = read
    if table is None:
        raise GraphFileError(path, "is not a readable Parquet file")
    names = _column_names(list(table.column_names), table.num_columns, path)
    kinds = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in table.schema]
    texts = (pa.string(), pa.large_string())
    text = frozenset(name for name, kind in zip(names, kinds) if kind in texts)
    return Table(path, dict(zip(names, table.columns)), table.num_rows, text=text)


def _from_arrow(column: Any) -> Column | None:
    """Numbers without nulls as an array; other numbers and text as cells; None for other types."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    if pa.types.is_integer(kind) and column.null_count == 0 and kind != pa.uint64():
        return column.to_numpy().astype(np.int64)
    if pa.types.is_floating(kind) and column.null_count == 0:
        return column.to_numpy().astype(np.float64)
    plain = ("integer", "floating", "boolean", "decimal", "string", "large_string")
    if any(getattr(pa.types, f"is_{name}")(kind) for name in plain):
        return ["" if v is None else str(v).strip() for v in column.to_pylist()]
    return None if not pa.types.is_null(kind) else [""] * len(column)
