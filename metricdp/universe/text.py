"""Bytes and text of input files of all formats: gzip, encodings and their errors."""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from numbers import Real
from pathlib import Path

import numpy as np

from metricdp.arguments import Floats, Ints, file_path
from metricdp.errors import GraphFileError, InputError, UnknownIdError, not_text

SPARE_VERTICES = 1_000_000
"""Most vertices without edges that a file's header may declare."""


def bare_name(path: str | Path) -> str:
    """Lower-case file name without a final ``.gz``."""
    name = Path(path).name.lower()
    return name[:-3] if name.endswith(".gz") else name


def read_bytes(path: str | Path) -> bytes:
    """The content of a file, decompressed if it starts like gzip (whatever its ending)."""
    path = file_path(path, "path")
    try:
        data = path.read_bytes()
    except OSError as error:
        known = {FileNotFoundError: "no such file", IsADirectoryError: "is a directory, not a file"}
        other = f"cannot be read ({error.strerror or type(error).__name__})"
        raise GraphFileError(path, known.get(type(error), other)) from None
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise GraphFileError(path, "is a damaged or truncated gzip file") from None
    elif data and path.name.lower().endswith(".gz"):
        raise GraphFileError(path, "is not a gzip file although its name ends in .gz")
    if not data.strip(b"\r\n\t \xef\xbb\xbf"):
        raise GraphFileError(path, "the file is empty")
    return data


def decode(data: bytes, path: str | Path) -> str:
    """Decode UTF-8 (with or without a byte-order mark) with line ends as ``\\n``."""
    with suppress(UnicodeDecodeError):
        if b"\0" not in data:
            return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    raise GraphFileError(path, not_text(data))


def read_text(path: str | Path) -> str:
    """Read a text file, gzipped or not; see `read_bytes` and `decode` for the errors."""
    return decode(read_bytes(path), path)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Turn an `InputError` into a `GraphFileError` that names this file."""
    try:
        yield
    except InputError as error:
        if type(error) not in (InputError, UnknownIdError):
            raise
        raise GraphFileError(path, str(error)) from None


def number(value: object) -> float | None:
    """A number or numeric text as float (``nan`` and ``inf`` too, no underscores), or None."""
    if not isinstance(value, str | Real | Decimal | np.number) or isinstance(
        value, bool | np.complexfloating | np.timedelta64
    ):
        return None
    try:
        return None if isinstance(value, str) and "_" in value else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def comma_in(cells: Iterable[object]) -> str:
    """A remark on the first of some cells that has a decimal comma; empty if none has."""
    commas = (c for c in cells if isinstance(c, str) and _DECIMAL_COMMA.fullmatch(c))
    return next((f"; write {c!r} with a decimal point" for c in commas), "")


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number."""
    return number(cell) is not None


def numeric_rows(
    path: str | Path, rows: Sequence[tuple[int, Sequence[str]]], width: int, shape: str
) -> Floats:
    """Rows of numbers, each with the number of its line, as an array of shape (n_rows, width)."""
    for line, cells in rows:
        if len(cells) != width or not all(map(is_number, cells)):
            raise GraphFileError(path, f"expected {shape}", line)
    return np.array([cells for _, cells in rows], dtype=np.float64).reshape(-1, width)


def vertex_positions(path: str | Path, numbers: Floats, n: int, rule: str) -> Ints:
    """Positions of vertices that are numbered from 1 to n."""
    if not ((numbers >= 1) & (numbers <= n) & (numbers == np.floor(numbers))).all():
        raise GraphFileError(path, rule)
    return numbers.astype(np.int64) - 1


def whole_numbers(cells: Sequence[str]) -> list[int]:
    """The numbers of a header line, at most 10^18 each; empty if one is not a whole number."""
    if not all(cell.isdecimal() for cell in cells):
        return []
    return [int(cell) if len(cell) < 19 else 10**18 for cell in cells]


def check_promise(path: str | Path, n_vertices: int, n_edges: int) -> None:
    """Refuse a header that declares far more vertices than its edges can have as ends."""
    if n_vertices > 2 * n_edges + SPARE_VERTICES:
        promised = f"the header promises {n_vertices:,} vertices, but {n_edges:,} edges join"
        raise GraphFileError(path, f"{promised} at most {2 * n_edges:,} of them")


_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_LEADING_ZERO = re.compile(r"0(?<=[\s,;|]0)\d|0(?<=[\s,;|][+-]0)\d")
_EXPONENT = re.compile(r"[\s,;|][+-]?\d+[eE]\d")


def has_codes(text: str) -> bool:
    """Whether some cell is ``007`` or ``1e3``, as no program writes a number: such ids must stay
    text.
    """
    zeros = any(map(_LEADING_ZERO.search, (" " + text[:40], text)))
    return zeros or (("e" in text or "E" in text) and bool(_EXPONENT.search(" " + text)))
