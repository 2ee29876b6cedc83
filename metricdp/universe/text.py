"""Bytes and text of input files: gzip, encodings and their errors, once for all formats."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from metricdp.arguments import file_path
from metricdp.errors import GraphFileError, InputError

SPARE_VERTICES = 1_000_000
"""Vertices without any edge that the header of a file may promise."""


def failure(
    path: object, reason: str, line: int | None = None, *, private: bool = False, rule: str = ""
) -> InputError:
    """The error for a file: reason and line if public, the rule alone if private."""
    if private:
        return InputError(f"{path}: {rule or reason}")
    return GraphFileError(path, reason, line)


def bare_name(path: str | Path) -> str:
    """Lower-case file name without a final ``.gz``."""
    name = Path(path).name.lower()
    return name[:-3] if name.endswith(".gz") else name


def read_bytes(path: str | Path) -> bytes:
    """Read a file whole, decompressing it when it starts like gzip (whatever its ending)."""
    problem = ""
    data = b""
    path = file_path(path, "path")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        problem = "no such file"
    except IsADirectoryError:
        problem = "is a directory, not a file"
    except OSError as error:
        problem = f"cannot be read ({error.strerror or type(error).__name__})"
    if not problem and data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            problem = "is a damaged or truncated gzip file"
    elif not problem and data and path.name.lower().endswith(".gz"):
        problem = "is not a gzip file although its name ends in .gz"
    if not problem and not data.strip(b"\r\n\t \xef\xbb\xbf"):
        problem = "the file is empty"
    if problem:
        raise GraphFileError(path, problem)
    return data


def decode(data: bytes, path: str | Path) -> str:
    """Decode UTF-8 (with or without a byte-order mark) with line ends as ``\\n``."""
    text: str | None = None
    if b"\0" not in data:
        with suppress(
            UnicodeDecodeError
        ):  # raised below, where no exception that holds the bytes is chained
            text = data.decode("utf-8-sig")
    if text is None:
        raise GraphFileError(path, "is not UTF-8 text")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_text(path: str | Path) -> str:
    """Read a text file, gzipped or not; see `read_bytes` and `decode` for the errors."""
    return decode(read_bytes(path), path)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Turn an `InputError` that knows no file into a `GraphFileError` that names this one."""
    try:
        yield
    except InputError as error:
        if type(error) is not InputError:
            raise
        raise GraphFileError(path, str(error)) from None


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number (``nan`` and ``inf`` count, underscores do not)."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def whole_numbers(cells: Sequence[str]) -> list[int]:
    """The numbers of a header line, empty if not whole; at most 10^18."""
    if not all(cell.isdecimal() for cell in cells):
        return []
    return [int(cell) if len(cell) < 19 else 10**18 for cell in cells]


def check_promise(path: str | Path, n_vertices: int, n_edges: int) -> None:
    """Refuse a header that promises more vertices than its edges can join."""
    if n_vertices > 2 * n_edges + SPARE_VERTICES:
        reason = (
            f"the header promises {n_vertices:,} vertices, but {n_edges:,} edges join at most "
            f"{2 * n_edges:,} of them"
        )
        raise GraphFileError(path, reason)


_LEADING_ZERO = re.compile(r"0(?<=[\s,;|]0)\d|0(?<=[\s,;|][+-]0)\d")


def has_leading_zeros(text: str) -> bool:
    """Whether some number is written as in ``007``: such ids must stay text."""
    return (
        _LEADING_ZERO.search(" " + text[:40]) is not None or _LEADING_ZERO.search(text) is not None
    )
