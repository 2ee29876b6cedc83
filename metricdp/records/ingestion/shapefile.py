"""Shapefiles of points, read byte by byte and strictly, each dBASE field by itself."""

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints
from metricdp.errors import GraphFileError

_WHOLE = re.compile(rb"[+-]?[0-9]+")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(rb"([0-9]{4})([0-9]{2})([0-9]{2})")
_LOST = "\ufffd"
KINDS = {"C": "text", "N": "number", "F": "number", "D": "date"}
"""Types of fields that are read."""


@dataclass(frozen=True)
class ShapefileField:
    """A column of the table: its name and type, and where in a row it stands."""

    name: str
    kind: str
    start: int
    stop: int


@dataclass(frozen=True)
class Shapefile:
    """What the headers of a Shapefile say.

    `path`: of the shapes; `encoding`: of its text, UTF-8 or one in which each byte is a character.
    """

    path: Path
    fields: tuple[ShapefileField, ...]
    encoding: str
    _places: tuple[int, int, int]
    """Where rows of the table begin, how long each is, and how many there are."""

    def rows(
        self, names: Sequence[str], size: int
    ) -> Generator[tuple[dict[str, list[Any]], Floats], None, None]:
        """Blocks of rows: columns of cells, and places of shape (n, 2), NaN of what is no point.

        Rows that are marked as deleted are left out, each by its own mark.
        """
        first, width, n_rows = self._places
        table = _mapped(_beside(self.path, ".dbf"))
        shapes = _mapped(self.path)
        index = _mapped(_beside(self.path, ".shx"))[100:].view(">i4").reshape(n_rows, 2)
        by_name = {field.name: field for field in self.fields}
        for start in range(0, n_rows, size):
            stop = min(start + size, n_rows)
            rows = table[first + start * width : first + stop * width]
            rows = rows.reshape(stop - start, width)
            kept = rows[:, 0] != ord("*")
            rows = rows[kept]
            cells = {name: self._column(by_name[name], rows) for name in names}
            yield cells, _points(shapes, index[start:stop][kept].astype(np.int64) * 2)

    def _column(self, field: ShapefileField, rows: NDArray[np.uint8]) -> list[Any]:
        held = np.ascontiguousarray(rows[:, field.start : field.stop])
        raw = held.view(f"V{field.stop - field.start}").ravel().tolist()
        read: Callable[[bytes], Any] = number if KINDS.get(field.kind) == "number" else day
        if field.kind == "C":
            read = partial(text, encoding=self.encoding)
        return list(map(read, raw))


def text(raw: bytes, encoding: str) -> str | None:
    """A field of text; with the mark of lost characters if its bytes are none."""
    plain = raw.rstrip(b" \0")
    with suppress(UnicodeDecodeError):
        return plain.decode(encoding) or None
    return _LOST


def number(raw: bytes) -> int | Decimal | None:
    """A field of digits, all of them; None of what is no number."""
    plain = raw.strip(b" \0")
    if _WHOLE.fullmatch(plain):
        return int(plain)
    return Decimal(plain.decode("ascii")) if _NUMBER.fullmatch(plain) else None


def day(raw: bytes) -> date | None:
    """A field of a date, as YYYYMMDD; None of what is none."""
    found = _DATE.fullmatch(raw.strip(b" \0"))
    if found is not None:
        with suppress(ValueError):
            return date(*map(int, found.groups()))
    return None


def shapefile(path: str | Path) -> Shapefile:
    """What the headers of a Shapefile's files say."""
    shapes = Path(path)
    found = None
    with suppress(OSError, ValueError, IndexError):
        found = _headers(shapes)
    if found is None:
        raise GraphFileError(
            path, "is not a Shapefile that can be read: it is three files, .shp, .shx and .dbf"
        )
    return found


def _headers(path: Path) -> Shapefile | None:
    table = _beside(path, ".dbf")
    n_records, odd = divmod(_beside(path, ".shx").stat().st_size - 100, 8)
    with table.open("rb") as file:
        start = file.read(32)
        first, width = (int.from_bytes(start[i : i + 2], "little") for i in (8, 10))
        head = file.read(first - 32)
    n_rows = int.from_bytes(start[4:8], "little")
    encoding = _encoding(path, start[29])
    fields = []
    at = 1
    for i in range(0, len(head), 32):
        if head[i] == ord("\r"):
            break
        name = head[i : i + 11].partition(b"\0")[0].decode(encoding, "replace").strip()
        fields.append(ShapefileField(name, chr(head[i + 11]), at, at + head[i + 16]))
        at += head[i + 16]
    whole = table.stat().st_size >= first + n_rows * width
    if not whole or at != width or odd or n_records != n_rows:
        return None
    return Shapefile(path, tuple(fields), encoding, (first, width, n_rows))


def _encoding(path: Path, mark: int) -> str:
    """UTF-8, where the file beside it says so or nothing says anything; else a byte a character."""
    said = ""
    with suppress(OSError):
        said = _beside(path, ".cpg").read_text("latin-1").strip().lower().replace("-", "")
    return "utf-8" if said in ("utf8", "65001") or not (said or mark) else "latin-1"


def _beside(path: Path, ending: str) -> Path:
    """The file of the same name and another ending, in small or in capital letters."""
    large = path.with_suffix(ending.upper())
    return large if path.suffix.isupper() and large.exists() else path.with_suffix(ending)


def _mapped(path: Path) -> NDArray[np.uint8]:
    return np.memmap(path, np.uint8, "r")


def _points(shapes: NDArray[np.uint8], at: Ints) -> Floats:
    """Places of shapes from their offsets and lengths in bytes: a point, or a multipoint of one."""
    places = np.full((len(at), 2), np.nan)
    start = at[:, 0] + 8  # the number and the length of a record come first
    inside = (start >= 100) & (at[:, 1] >= 20) & (start + at[:, 1] <= len(shapes))
    kinds = np.zeros(len(at), np.int64)
    kinds[inside] = _gathered(shapes, start[inside], "<i4", 1)[:, 0]
    single = np.isin(kinds, (1, 11, 21))
    several = np.isin(kinds, (8, 18, 28)) & (at[:, 1] >= 56)
    several[several] = _gathered(shapes, start[several] + 36, "<i4", 1)[:, 0] == 1
    places[single] = _gathered(shapes, start[single] + 4, "<f8", 2)
    places[several] = _gathered(shapes, start[several] + 40, "<f8", 2)
    return places


def _gathered(data: NDArray[np.uint8], start: Ints, kind: str, n: int) -> NDArray[Any]:
    """Some numbers from each of some offsets."""
    n_bytes = n * np.dtype(kind).itemsize
    held = np.ascontiguousarray(data[start[:, None] + np.arange(n_bytes)])
    return held.view(kind).reshape(len(start), n)
