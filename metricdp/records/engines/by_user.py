"""What is kept of each user's rows: a function of those rows and of one secret key, which every
engine applies in its own way. `bounding` keeps m rows, `capping` some of a few parts, `weighting`
all, with shares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.records.engines.sources import Source
from metricdp.records.ingestion.encoders import Reading, RowEncoder


class Dialect(NamedTuple):
    """What SQL engines say in words of their own: expressions to `quote` names, for whole numbers
    `divided` or `wide`, `rows` as text, and `hashed` texts.
    """

    quote: str
    divided: str
    wide: str
    rows: str
    hashed: str

    def digest(self, key: str, columns: Sequence[str]) -> str:
        """The hash of some columns under a key, whatever their types."""
        named = ", ".join(f"'{i}', {name}" for i, name in enumerate(columns))
        return self.hashed.format(f"concat('{key}', {self.rows.format(', '.join(columns), named)})")


def numbered(users: Sequence[Hashable], n_records: int) -> NDArray[np.int64]:
    """Number of each record's user, in the order in which users come.

    Raises
    ------
    InputError
        Not one user for each record.
    """
    if len(users) != n_records or any(u is None or u != u for u in users):
        raise InputError("one user per record")
    number: dict[Hashable, int] = {}
    return np.fromiter((number.setdefault(u, len(number)) for u in users), np.int64, n_records)


class UserRule(ABC):
    """What is kept of each user's rows."""

    extra: ClassVar[tuple[str, ...]] = ()
    """Columns that it adds."""
    weighted: ClassVar[bool] = False
    """Whether what it keeps has weights, in the column `weighting.GRAINS`."""

    @abstractmethod
    def held(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any] | Source:
        """Of records in hand, one user for each."""

    @abstractmethod
    def statement(self, table: str, names: Sequence[str], sql: Dialect) -> str:
        """The SQL query that keeps it of rows of a table."""

    @abstractmethod
    def rows(self, block: Any, names: Sequence[str]) -> Any:
        """The same of a pandas DataFrame that holds all rows of its users."""

    def reading(self, encode: RowEncoder, user: str) -> Reading:
        """How rows are read before the rule."""
        return Reading(replace(encode, steps=()), user)

    def encoder(self, reading: Reading, encode: RowEncoder) -> RowEncoder:
        """How they are read after it."""
        return replace(reading.encoder(), steps=encode.steps)

    def columns(self, reading: Reading) -> list[str]:
        """Columns of what is kept."""
        return [*reading.names, *self.extra]
