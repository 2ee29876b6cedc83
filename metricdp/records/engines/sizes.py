"""One record a user, for counts of users by their number of records.

**Privacy.** The power of two at or above a user's number of rows is a function of those rows alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.records.engines.by_user import Dialect, UserRule, numbered
from metricdp.records.ingestion.encoders import Reading, RowEncoder
from metricdp.records.ingestion.matching import Column, Matcher


class Anywhere(Matcher):
    """Every cell is at position 0: for tables of which only users are read."""

    def __call__(self, cells: Column) -> NDArray[np.int64]:
        """Zeros."""
        return np.zeros(len(cells), np.int64)

    def position(self, cell: Any) -> int:
        """0."""
        return 0

    def _of_numbers(self, cells: NDArray[Any]) -> NDArray[np.int64]:
        return np.zeros(len(cells), np.int64)


def doublings(sizes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Least j with size <= 2^j, at most `most`, of sizes from 1 on."""
    bounds = 2 ** np.arange(most, dtype=np.int64)
    return np.searchsorted(bounds, sizes, side="left").astype(np.int64)


def sizes_of(users: Sequence[Hashable]) -> NDArray[np.int64]:
    """Records of each user, one number a user; InputError if a user is missing."""
    return np.bincount(numbered(users, len(users))).astype(np.int64)


@dataclass(frozen=True)
class Doubled:
    """From a user's number of records, read already, to its place; it travels to the workers."""

    most: int

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """Shape (n,)."""
        return doublings(rows[:, 0].astype(np.int64), self.most)


@dataclass(frozen=True)
class LogSizes(UserRule):
    """One record a user: least j of 2^j records at least as many as theirs.

    `most`: largest j.
    """

    most: int

    def held(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[np.int64]:
        """Counted here."""
        return doublings(sizes_of(users), self.most)

    def statement(self, table: str, names: Sequence[str], sql: Dialect) -> str:
        """A group for each user."""
        at, user = (f"{sql.quote}{name}{sql.quote}" for name in names)
        rows = f"CASE WHEN {user} IS NULL THEN max({at}) ELSE count(*) END"
        return f"SELECT CAST({rows} AS BIGINT) AS {at}, {user} FROM {table} GROUP BY {user}"

    def rows(self, block: Any, names: Sequence[str]) -> Any:
        """Likewise."""
        at, user = names
        groups = block[[at, user]].groupby(user, sort=False, dropna=False)[at]
        found = groups.agg(["size", "max"]).reset_index()
        lost = found[user].isna()
        found[at] = found["size"].mask(lost, found["max"]).astype(np.int64)
        return found[[at, user]]

    def encoder(self, reading: Reading, encode: RowEncoder) -> RowEncoder:
        """Their places."""
        return replace(reading.encoder(), place=Doubled(self.most))
