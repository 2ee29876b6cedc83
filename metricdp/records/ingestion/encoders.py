"""From blocks of a table to records and users: the same code on every engine."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.protocols import Placing
from metricdp.records.ingestion import columns as cells_of
from metricdp.records.ingestion.lines import Lines
from metricdp.records.ingestion.matching import Matcher, matcher
from metricdp.records.trouble import Ended, Trouble, attempt, raised

Step = Callable[[NDArray[Any]], NDArray[Any]]
VALUES = 1 << 20
"""Numbers of a block: 8 MB."""
USER = "_user"
"""Column of the users' texts in rows that were read already."""


@dataclass(frozen=True)
class RowEncoder:
    """Columns of a block to records, by a `Matcher` of ids or a map of finite points (`place`),
    then `steps`. With `read`, columns hold encoded records beside their users. It travels to
    workers.
    """

    columns: tuple[str, ...]
    place: Step
    steps: tuple[Step, ...] = ()
    read: bool = False

    def __call__(self, block: Any) -> NDArray[Any]:
        """Records of a frame, an Arrow table or batch, lines of text, or an array (n, d)."""
        return self.stepped(self.first(opened(block, self.names)))

    def stepped(self, records: NDArray[Any]) -> NDArray[Any]:
        """All steps, in turn."""
        for step in self.steps:
            records = step(records)
        return records

    def first(self, block: Any) -> NDArray[Any]:
        """The same before any step."""
        if isinstance(block, np.ndarray):
            points = cells_of.points(block, len(self.columns))
            return self.place(points[:, 0] if isinstance(self.place, Matcher) else points)
        if self.read:
            checked_users(block)
        columns = [cells_of.column(block, name) for name in self.columns]
        if isinstance(self.place, Matcher):
            return self.place(columns[0])
        points = np.empty((len(columns[0]), len(columns)))
        for j, cells in enumerate(columns):
            points[:, j] = cells_of.numbers(cells)
        return self.place(points)

    @property
    def names(self) -> list[str]:
        """Columns that a block must have."""
        return list(dict.fromkeys([*self.columns, USER] if self.read else self.columns))

    def then(self, step: Step) -> RowEncoder:
        """The same, and one step more."""
        return replace(self, steps=(*self.steps, step))

    def empty(self) -> NDArray[Any]:
        """No records."""
        return self(np.empty((0, len(self.columns))))


def ids_encoder(column: str, ids: Sequence[Hashable]) -> RowEncoder:
    """The encoder of a column of ids."""
    return RowEncoder((column,), matcher(ids))


def opened(block: Any, names: Sequence[str]) -> Any:
    """A block's columns, if it is lines of text still."""
    return block.table(names) if isinstance(block, Lines) else block


def n_rows(block: Any) -> int:
    """Rows of an opened block."""
    if isinstance(block, dict):
        return len(next(iter(block.values())))
    return block.num_rows if hasattr(block, "num_rows") else len(block)


def checked_users(block: Any) -> None:
    """Raise unless every row that was read has a user."""
    users = cells_of.texts(cells_of.column(block, USER))
    lost = [at for at, user in enumerate(users) if user is None]
    if lost:
        codes = cells_of.listed(cells_of.column(block, "_0"))
        raised(Trouble(max(int(codes[at]) for at in lost)))


@dataclass(frozen=True)
class Reading:
    """Rows of a block as records with their users, before users are bounded: what engines sort.

    `encode`: without steps; `user`: the column of users; `areas` (n_points,): of a finite universe:
    a public number of each point, which stands beside it in `rows`.
    """

    encode: RowEncoder
    user: str
    areas: NDArray[np.int64] | None = None

    def __call__(self, block: Any) -> tuple[NDArray[Any], list[str]]:
        """Records, shape (n,) or (n, d), and each one's user."""
        table = opened(block, self.columns)
        users = cells_of.texts(cells_of.column(table, self.user))
        if any(user is None for user in users):
            raise InputError("a user is missing")
        return self.encode.first(table), users  # type: ignore[return-value]

    def rows(self, block: Any) -> dict[str, Any]:
        """Columns `names` of a block; one row that tells of trouble if it cannot be read."""
        done = attempt(lambda: self._of(block))
        if isinstance(done, Ended):
            sorry: NDArray[Any] = np.full(1, int(done.trouble), self.kind)
            return self._named([sorry] * (len(self.names) - 1), [None])
        return self._named(*done)

    def _of(self, block: Any) -> tuple[list[NDArray[Any]], list[str]]:
        """Columns of numbers, and users."""
        records, users = self(block)
        if records.ndim > 1:
            return list(np.ascontiguousarray(records.T) + 0.0), users
        return [records] if self.areas is None else [records, self.areas[records]], users

    def _named(self, columns: list[NDArray[Any]], users: Any) -> dict[str, Any]:
        return {**dict(zip(self.names, columns)), USER: users}

    @property
    def columns(self) -> list[str]:
        """Columns that a block must have."""
        return list(dict.fromkeys([*self.encode.columns, self.user]))

    @property
    def kind(self) -> type:
        """Of the numbers that a record is made of."""
        return np.int64 if self.encode.empty().dtype.kind in "iu" else np.float64

    @property
    def names(self) -> list[str]:
        """Columns that rows have then: the record's numbers and its user."""
        empty = self.encode.empty()
        width = 1 if empty.ndim == 1 else empty.shape[1]
        width += self.areas is not None
        return [*(f"_{j}" for j in range(width)), USER]

    def encoder(self) -> RowEncoder:
        """The encoder of such rows."""
        placed = self.encode.place  # records are where the universe has them: not moved again
        plain = placed.place if isinstance(placed, Placing) else placed
        place = as_positions if self.kind is np.int64 else plain
        return RowEncoder(tuple(self.names[:-1]), place, read=True)


def as_positions(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions that were read already."""
    return points[:, 0].astype(np.int64)
