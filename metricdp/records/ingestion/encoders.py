"""Encodes blocks of a table as records and users, by the same code on every engine."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats
from metricdp.errors import InputError
from metricdp.records.ingestion import columns as cells_of
from metricdp.records.ingestion.lines import Lines
from metricdp.records.ingestion.matching import Matcher, matcher
from metricdp.records.trouble import Ended, Trouble, attempt, raised

Step = Callable[[NDArray[Any]], NDArray[Any]]
VALUES = 1 << 20
"""Numbers in a block: 8 MB."""
USER = "_user"
"""Name of the column of users in rows that were read already."""


@dataclass(frozen=True)
class RowEncoder:
    """Maps the columns of a block to records: by `place`, a `Matcher` of ids or a map of points,
    then by `steps`. With `read`, columns hold records that were encoded already, and their users.
    Workers get a copy.
    """

    columns: tuple[str, ...]
    place: Step
    steps: tuple[Step, ...] = ()
    read: bool = False

    def __call__(self, block: Any) -> NDArray[Any]:
        """Records of a frame, an Arrow table or batch, lines of text, or an array (n, d)."""
        return self.stepped(self.first(columns_of(block, self.names)))

    def stepped(self, records: NDArray[Any]) -> NDArray[Any]:
        """The records after all steps."""
        for step in self.steps:
            records = step(records)
        return records

    def first(self, block: Any) -> NDArray[Any]:
        """The records before any step."""
        if isinstance(block, np.ndarray):
            points = cells_of.points(block, len(self.columns))
            return self.place(points[:, 0] if isinstance(self.place, Matcher) else points)
        if self.read:
            checked_users(block)
        columns = (cells_of.column(block, name) for name in self.columns)
        if isinstance(self.place, Matcher):
            return self.place(next(columns))
        return self.place(np.column_stack([cells_of.numbers(cells) for cells in columns]))

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys([*self.columns, USER] if self.read else self.columns))

    def then(self, step: Step) -> RowEncoder:
        """This encoder with one more step."""
        return replace(self, steps=(*self.steps, step))

    def empty(self) -> NDArray[Any]:
        """An array of no records."""
        return self(np.empty((0, len(self.columns))))


def ids_encoder(column: str, ids: Sequence[Hashable]) -> RowEncoder:
    """The encoder of a column of ids."""
    return RowEncoder((column,), matcher(ids))


def columns_of(block: Any, names: Sequence[str]) -> Any:
    """The columns of a block, which is parsed if it is still lines of text."""
    return block.table(names) if isinstance(block, Lines) else block


def n_rows(block: Any) -> int:
    """Number of rows of a parsed block."""
    if isinstance(block, dict):
        return len(next(iter(block.values())))
    return block.num_rows if hasattr(block, "num_rows") else len(block)


def checked_users(block: Any) -> None:
    """Raise unless every row has a user: rows without one report a kind of error."""
    users = cells_of.texts(cells_of.column(block, USER))
    lost = [at for at, user in enumerate(users) if user is None]
    if lost:
        codes = cells_of.listed(cells_of.column(block, "_0"))
        raised(Trouble(max(int(codes[at]) for at in lost)))


@dataclass(frozen=True)
class Reading:
    """Reads rows as records with their users, which engines then sort by user to bound
    contributions.

    `encode`: its steps are applied after that; `user`: the column of users.
    """

    encode: RowEncoder
    user: str

    def __call__(self, block: Any) -> tuple[NDArray[Any], list[str]]:
        """Records, shape (n,) or (n, d), and each one's user."""
        table = columns_of(block, self.columns)
        users = cells_of.texts(cells_of.column(table, self.user))
        if any(user is None for user in users):
            raise InputError("a user is missing")
        return self.encode.first(table), users  # type: ignore[return-value]

    def rows(self, block: Any) -> dict[str, Any]:
        """Columns `names` of a block; one row with the kind of error if it cannot be read."""
        done = attempt(lambda: self(block))
        if isinstance(done, Ended):
            width = len(self.names) - 1
            return self.named([np.full(1, int(done.trouble), self.kind)] * width, [None])
        records, users = done
        return self.named([*np.atleast_2d(np.ascontiguousarray(records.T) + 0)], users)

    @staticmethod
    def named(columns: Sequence[NDArray[Any]], users: Sequence[str | None]) -> dict[str, Any]:
        """Columns of numbers, named by their index, and of users."""
        return {**{f"_{j}": numbers for j, numbers in enumerate(columns)}, USER: users}

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys([*self.encode.columns, self.user]))

    @property
    def kind(self) -> type:
        """Type of the numbers that make up a record."""
        return np.int64 if self.encode.empty().dtype.kind in "iu" else np.float64

    @property
    def names(self) -> list[str]:
        """Columns of the rows: the record's numbers and its user."""
        return list(self.named([*np.atleast_2d(self.encode.empty().T)], []))

    def encoder(self, weighted: bool = False) -> RowEncoder:
        """The encoder of these rows, with a weight as last number if `weighted`."""
        columns = tuple(f"_{j}" for j in range(len(self.names) - 1 + weighted))
        flat = len(columns) == 1 and self.kind is np.int64
        return RowEncoder(columns, AsRead(self.kind, flat), self.encode.steps, read=True)


@dataclass(frozen=True)
class AsRead:
    """Records that were read already, numbers of a type; positions (n,) if `flat`."""

    kind: type
    flat: bool

    def __call__(self, rows: Floats) -> NDArray[Any]:
        """The records, shape (n,) or (n, d)."""
        return rows[:, 0].astype(self.kind) if self.flat else rows.astype(self.kind)
