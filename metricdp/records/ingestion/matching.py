"""Matches private cells to points of a finite universe, each cell independently.

A cell matches the id that it equals; else the id with its text, of the cell's kind if two have it;
else, if the text is a numeral, the *number* among the ids with its value, so that ``"1.0"`` finds 1
but ``"007"`` is not 7. Every other cell is refused.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.errors import InputError
from metricdp.protocols import Space, box, finite
from metricdp.records.ingestion.cells import EXACT, canonical, text_of
from metricdp.records.ingestion.columns import Column as Column
from metricdp.records.ingestion.columns import is_text, points, simplified

UNKNOWN = "a record is no id of the universe"
_SPREAD = 8
"""Integer ids use a lookup table, if their range is at most this many times their number."""


class Matcher(ABC):
    """Finds cells among the ids of a universe. It is public, and sent to workers."""

    def __call__(self, cells: Column) -> Ints:
        """Positions of a column of cells."""
        if is_text(cells):
            return self._of_text(cells)
        if isinstance(cells, np.ndarray):
            return self._of_numbers(cells)
        return np.fromiter(map(self.position, cells), np.int64, len(cells))

    @abstractmethod
    def position(self, cell: Any) -> int:
        """The position of one cell: the rule of the module."""

    def _of_numbers(self, cells: NDArray[Any]) -> Ints:
        """Positions of an array of numbers; each distinct one is matched once."""
        distinct, place = np.unique(cells, return_inverse=True)
        return self(distinct.tolist())[place]

    def _of_text(self, cells: Any) -> Ints:
        """Positions of an Arrow string array; each distinct text is matched once."""
        encoded = cells.dictionary_encode()
        at = self(encoded.dictionary.to_pylist())
        if encoded.indices.null_count:
            raise InputError(UNKNOWN)
        found: Ints = at[encoded.indices.to_numpy()]
        return found


class Integers(Matcher):
    """Finds cells among distinct 64-bit integers.

    Consecutive ids need no lookup; others take a table, or a sorted array if they are sparse.
    """

    def __init__(self, ids: range | Ints) -> None:
        ends = np.array([ids[0], ids[-1]]) if isinstance(ids, range) else ids
        self._low, self._high = int(ends.min()), int(ends.max())
        self._table: Ints | None = None
        self._order: Ints | None = None
        self._sorted: Ints = ends
        if isinstance(ids, range):
            return
        if self._high - self._low < _SPREAD * len(ids) + 1024:
            self._table = np.full(self._high - self._low + 1, -1, np.int64)
            self._table[ids - self._low] = np.arange(len(ids))
        else:
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]

    def position(self, cell: Any) -> int:
        """The position of the integer that the cell is or spells."""
        number = canonical(text_of(cell) or "")
        if number is None or "." in number or not self._low <= int(number) <= self._high:
            raise InputError(UNKNOWN)
        return int(self._found(np.array([int(number)], np.int64))[0])

    def __call__(self, cells: Column) -> Ints:
        """Positions of a column; a list of Python integers is converted as a whole."""
        if isinstance(cells, list) and all(type(c) is int for c in cells):
            with suppress(OverflowError):
                return self._of_numbers(np.array(cells, np.int64))
        return super().__call__(cells)

    def _of_numbers(self, cells: NDArray[Any]) -> Ints:
        if cells.dtype == np.float16:  # float16 cannot represent 2^53
            cells = cells.astype(np.float64)
        if cells.dtype.kind == "f" and not (
            (np.abs(cells) < EXACT).all() and (cells == np.floor(cells)).all()
        ):
            raise InputError(UNKNOWN)
        if len(cells) and not self._low <= int(cells.min()) <= int(cells.max()) <= self._high:
            raise InputError(UNKNOWN)
        return self._found(cells.astype(np.int64))

    def _found(self, numbers: Ints) -> Ints:
        """Positions of integers in the range of the ids."""
        if self._table is not None:
            at = self._table[numbers - self._low]
        elif self._order is not None:
            place = np.searchsorted(self._sorted, numbers)
            at = np.where(self._sorted[place] == numbers, self._order[place], -1)
        else:
            at = numbers - self._low
        if (at < 0).any():
            raise InputError(UNKNOWN)
        return at


class Ids(Matcher):
    """Finds cells among distinct ids of any kind.

    Two tables, by the object itself and by its text, both with its kind. An ambiguous text has
    no position.
    """

    def __init__(self, ids: Sequence[Hashable]) -> None:
        self._as_they_are: dict[tuple[str, Hashable], int] = {}
        self._by_text: dict[tuple[str, str], int | None] = {}
        for at, one in enumerate(ids):
            kind, text = _kind(one), text_of(one)
            self._as_they_are[kind, one] = at
            if text is not None:
                self._by_text[kind, text] = None if (kind, text) in self._by_text else at

    def position(self, cell: Any) -> int:
        """The rule of the module."""
        kind, text = _kind(cell), text_of(cell)
        at = self._as_it_is(kind, cell)
        if at is None and text is not None:
            found = {k: self._by_text[k, text] for k in _KINDS if (k, text) in self._by_text}
            if len(found) == 1:
                (at,) = found.values()
            elif found:  # ids of several kinds have this text
                at = found[kind]
            elif kind in ("text", "number"):
                at = self._by_text.get(("number", canonical(text) or ""))
        if at is None:
            raise InputError(UNKNOWN)
        return at

    def _as_it_is(self, kind: str, cell: Any) -> int | None:
        # it may have no hash, or its comparison no truth value
        with suppress(TypeError, ValueError):
            return self._as_they_are.get((kind, cell))
        return None


class Anywhere(Matcher):
    """Matches every cell to position 0, for tables of which only users are read."""

    def __call__(self, cells: Column) -> Ints:
        """Zeros."""
        return np.zeros(len(cells), np.int64)

    def position(self, cell: Any) -> int:
        """0."""
        return 0


_KINDS = ("text", "truth", "number", "other")


def _kind(cell: Any) -> str:
    if isinstance(cell, str | bytes):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "truth"
    return "number" if isinstance(cell, Number) and text_of(cell) is not None else "other"


def matcher(ids: Sequence[Hashable]) -> Matcher:
    """The faster matcher for the kind of these ids, which is public."""
    if isinstance(ids, range) and ids.step == 1:
        return Integers(ids)
    whole = [int(i) for i in ids if type(i) is int or isinstance(i, np.integer)]
    if len(whole) == len(ids):
        with suppress(OverflowError):
            return Integers(np.array(whole, np.int64))
    return Ids(ids)


def positions(ids: Sequence[Hashable], records: Any) -> Ints:
    """Positions of records in memory, in any sequence or column."""
    return matcher(ids)(simplified(records))


SECRET = "at least one is not (which one, and how many, is private)"
Reading = tuple[str, Callable[[], NDArray[Any]]]
"""The rule that all records must satisfy, for messages, and a function that reads them."""


def in_hand(universe: Space, records: Any) -> Reading:
    """The reader of records in memory, by the kind of the universe."""
    return _IN_HAND[universe.kind](universe, records)


def _points(universe: Space, records: Any) -> Reading:
    space = box(universe, "points")
    rule = f"records must be finite numbers of shape (n, {space.dimension}); {SECRET}"
    return rule, lambda: space.clip(points(records, space.dimension))


def _named(universe: Space, records: Any) -> Reading:
    one = getattr(records, "ndim", 1) == 1 and not hasattr(records, "columns")
    if isinstance(records, str | bytes | Mapping) or not one:
        raise InputError(
            "records must be a sequence of ids, one per record; coordinates: from_coordinates"
        )
    known = finite(universe, "ids")
    kind = type(known.ids[0]).__name__
    rule = f"every record must be the id ({kind}) of a point of {known.name}; {SECRET}"
    return rule, lambda: positions(known.ids, records)


_IN_HAND = {"finite": _named, "box": _points}
