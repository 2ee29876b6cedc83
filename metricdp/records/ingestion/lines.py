r"""CSV, TSV and blank-separated files of private rows: **one line is one record**, read by itself.

- A file is UTF-8 text, compressed by gzip if and only if its name ends in ``.gz``.
- A line ends at ``\n``, ``\r\n`` or ``\r``, also inside quotes, so that an open quote swallows no
  later record.
- The *header* ends with the first line that is neither blank nor a comment (``#``, ``%``), which
  names the columns.
- Blank lines are not records. Every other line is one.
- Cells stand between delimiters, or in quotes as in CSV. A record with a wrong number of cells, a
  misplaced quote, bytes that are not UTF-8 or NUL is a row of missing cells, which the rules
  refuse.

`Lines.columns` reads a line by a function of the line and of the file's public `Layout`. A file
whose columns are named by number, ``"1"``, ``"2"``, …, has no header.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from metricdp.errors import InputError, not_text
from metricdp.records.ingestion.cells import LOST

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
"""Endings of text files."""
_MARK = "\ufeff"
_DELIMITERS = ",\t;|"
_COMMENTS = ("#", "%")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Layout:
    """The public facts by which the lines of a file are read.

    `names`: of the columns; None for a file without names; `delimiter`: one character; None for
    blanks.
    """

    names: tuple[str, ...] | None
    delimiter: str | None

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns, or their numbers from 1."""
        return [str(j + 1) for j in range(99_999)] if self.names is None else self.names

    def place(self, name: str) -> int:
        """Index of a column, from 0."""
        return int(name) - 1 if self.names is None else self.names.index(name)


def by_place(asked: Sequence[str]) -> bool:
    """Whether all columns are given by number, as for a file without names."""
    return all(
        isinstance(n, str) and n.isascii() and n.isdigit() and n[0] != "0" and len(n) < 6
        for n in asked
    )


def layout(lines: Iterable[str], path: str, asked: Sequence[str]) -> Layout:
    """The layout of a file whose first lines are given."""
    bare = path.lower().removesuffix(".gz")
    if by_place(asked):
        return Layout(
            None, "," if bare.endswith(".csv") else "\t" if bare.endswith(".tsv") else None
        )
    first = next((line for line in lines if has_names(line)), None)
    if first is None:
        raise InputError(f"{path}: no rows; the first row must name the columns")
    if "\0" in first:
        raise InputError(f"{path}: {not_text()}")
    delimiter = _delimiter(first, bare.endswith(".csv"))
    cells = split(first, delimiter)
    if cells is None:
        raise InputError(f"{path}: unbalanced or misplaced quotes in the row of names")
    names = [cell.strip() or str(j + 1) for j, cell in enumerate(cells)]
    if len(set(names)) < len(names):
        raise InputError(f"{path}: two columns have the same name")
    return Layout(tuple(names), delimiter)


def has_names(line: str) -> bool:
    """Whether a line of a file's header is its last, which names the columns."""
    return bool(line.strip()) and not line.lstrip().startswith(_COMMENTS)


def _delimiter(line: str, is_csv: bool) -> str | None:
    """The most frequent delimiter outside quotes; else blanks, or a comma for one column."""
    bare = "".join(line.split('"')[::2])
    found = max(_DELIMITERS, key=bare.count)
    return found if found in bare else "," if is_csv or '"' in line else None


def split(line: str, delimiter: str | None) -> list[str] | None:
    """The cells of a line, not stripped; None if quotes are unbalanced or misplaced."""
    if '"' not in line or delimiter is None:
        return line.split(delimiter)
    try:
        rows = list(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def decoded(data: bytes) -> list[str]:
    """The lines of some bytes; bytes that are not UTF-8 become `LOST`."""
    text = data.decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return [line.removeprefix(_MARK) for line in lines] if _MARK in text else lines


def header(data: bytes) -> list[str]:
    """The lines of the header of a file that starts with `data`, and no record."""
    rest = body(data)
    return decoded(data if rest is None else data[: len(data) - len(rest)])


def body(data: bytes) -> bytes | None:
    """What follows the header of a file that starts with `data`; None if it does not end there."""
    at = 0
    for end in _LINE_END.finditer(data):
        (line,) = decoded(data[at : end.start()])
        at = end.end()
        if has_names(line):
            return data[at:]
    return None


@dataclass(frozen=True, repr=False)
class Lines:
    """Some lines of a file, private, parsed by the worker that needs them.

    `data`: whole lines.
    """

    data: bytes
    layout: Layout

    def table(self, names: Sequence[str]) -> Any:
        """Columns of cells: an Arrow table if the fast parser applies, else a dict of lists."""
        fast = _quickly(self.data, self.layout, names)
        return self.columns(names) if fast is None else fast

    def columns(self, names: Sequence[str]) -> dict[str, list[str | None]]:
        """Columns of cells, parsed line by line: the definition."""
        blank = None if self.layout.delimiter is None else " "
        kept = [line for line in decoded(self.data) if line.strip(blank)]
        cells = list(map(split, kept, repeat(self.layout.delimiter)))
        at = [self.layout.place(name) for name in names]
        wide = None if self.layout.names is None else len(self.layout.names)
        missing: list[str | None] = [None] * (max(at) + 1)
        rows: list[Any] = [
            row
            if row is not None
            and (len(row) == wide if wide is not None else len(row) >= len(missing))
            and LOST not in line
            and "\0" not in line
            else missing
            for row, line in zip(cells, kept)
        ]
        return {name: [row[j] for row in rows] for name, j in zip(names, at)}


def _quickly(data: bytes, layout: Layout, names: Sequence[str]) -> Any:
    """The same columns by Arrow's parser, for UTF-8 blocks without quotes; else None."""
    delimiter = layout.delimiter
    known = layout.names
    if known is None or delimiter is None or len(known) < 2 or len(data) < 10_000:
        return None
    if any(mark in data for mark in (b'"', b"\0", LOST.encode(), _MARK.encode())):
        return None
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b"\r" in data:
        return None
    try:
        import pyarrow as pa
        from pyarrow import csv as fast
    except ImportError:
        return None
    try:
        data.decode()  # Arrow checks only the columns that it reads
        return fast.read_csv(
            pa.BufferReader(data),
            fast.ReadOptions(column_names=list(known), use_threads=False),
            fast.ParseOptions(delimiter=delimiter, quote_char=False),
            fast.ConvertOptions(
                column_types={name: pa.string() for name in known},
                include_columns=list(names),
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, UnicodeError, ValueError):  # a row of another width: line by line
        return None


def without_head(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """A file's chunks without its header."""
    head: bytes | None = b""
    for chunk in chunks:
        if head is None:
            yield chunk
            continue
        head += chunk
        found = body(head)
        # a \r at the end may be the first half of a line end
        if found is not None and (found or not head.endswith(b"\r")):
            head = None
            yield found


def blocks(chunks: Iterable[bytes], layout: Layout) -> Iterator[Lines]:
    """The lines of a file's chunks, in blocks of whole lines."""
    rest: list[bytes] = []
    for chunk in chunks if layout.names is None else without_head(chunks):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield Lines(b"".join([*rest, chunk[:end]]), layout)
            rest = []
        rest.append(chunk[end:])
    yield Lines(b"".join(rest), layout)
