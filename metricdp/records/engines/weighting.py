"""One unit of weight a user, spread over all their records in integers.

The unit is `WHOLE` = 2^16 fixed-point weight units. Of a user's r records, in the order of their
places,

    share of the first i records together = floor(WHOLE · i / r),

so a record has WHOLE / r units up to one, and **all of them have exactly WHOLE**. Nothing is drawn.

**Privacy.** A user adds WHOLE units in all, none negative, as a function of that user's records
alone. So a user is at most m = WHOLE contributions of one unit each for every query. Rounding each
share by itself could exceed that: the audit keeps it as a mutant. All engines make the same
integers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.records.engines.by_user import Dialect, UserRule, numbered
from metricdp.records.engines.sources import (
    Answer,
    Grouped,
    Groups,
    Source,
    Tally,
    grouped_parts,
    kept_of,
    sums,
)
from metricdp.records.exact import Sums, Total, by_digits
from metricdp.records.ingestion.encoders import Reading, RowEncoder

BITS = 16
WHOLE = 1 << BITS
"""Grains of one user."""
MOST_ROWS = 1 << (62 - BITS)
"""Of one user, where they are counted in this process."""
GRAINS = "_grains"
"""Column of the grains, in rows that were read already."""


def floors(before: Any, count: Any, of: Any) -> Any:
    """Grains of the records from `before` to `before + count` of a user with `of` records."""
    if np.max(of, initial=0) >= MOST_ROWS:
        raise InputError("more records of one user than 64 bits have room for")
    return WHOLE * (before + count) // of - WHOLE * before // of


def grains(users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[np.int64]:
    """Grains of each record, shape (n,)."""
    n = len(records)
    codes = numbered(users, n)
    axes = [records] if records.ndim == 1 else list(records.T)
    order = np.lexsort((*reversed(axes), codes))
    sizes = np.bincount(codes)
    first = np.concatenate([[0], np.cumsum(sizes)])[codes[order]]
    found = np.empty(n, np.int64)
    found[order] = floors(np.arange(n) - first, 1, sizes[codes[order]])
    return found


def shared(users: Sequence[Hashable], records: NDArray[Any]) -> Source:
    """Records in hand, positions or points, each with its grains."""
    held = grains(users, records)
    if records.ndim == 1:
        return Tally(records, held)
    return Weighted(np.column_stack([records, held]))


@dataclass(frozen=True)
class SharesOfOne(UserRule):
    """All records of each user, with their shares of one whole."""

    extra = (GRAINS,)
    weighted = True

    def held(self, users: Sequence[Hashable], records: NDArray[Any]) -> Source:
        """Beside their grains."""
        return shared(users, records)

    def statement(self, table: str, names: Sequence[str], sql: Dialect) -> str:
        """A sum over each user's places in order."""
        listed = [f"{sql.quote}{name}{sql.quote}" for name in names]
        rows, user, numbers = ", ".join(listed), listed[-1], ", ".join(listed[:-1])
        counted = f"SELECT {rows}, count(*) AS _c FROM {table} GROUP BY {rows}"
        ordered = f"PARTITION BY {user} ORDER BY {numbers} ROWS UNBOUNDED PRECEDING"
        summed = (
            f"SELECT *, sum(_c) OVER ({ordered}) AS _to, sum(_c) OVER (PARTITION BY {user}) AS _r "
            f"FROM ({counted}) AS _a"
        )
        bounds = (f"({WHOLE} * {sql.wide.format(to)})" for to in ("_to", "(_to - _c)"))
        upper, lower = (sql.divided.format(bound, "_r") for bound in bounds)
        return (
            f"SELECT {rows}, CAST({upper} - {lower} AS BIGINT) AS {sql.quote}{GRAINS}{sql.quote} "
            f"FROM ({summed}) AS _b"
        )

    def rows(self, block: Any, names: Sequence[str]) -> Any:
        """Likewise."""
        return shared_rows(block, names)

    def encoder(self, reading: Reading, encode: RowEncoder) -> RowEncoder:
        """Records beside their grains."""
        plain = reading.encoder()
        return replace(plain, columns=(*plain.columns, GRAINS), place=WithGrains(plain.place))


def shared_rows(block: Any, names: Sequence[str]) -> Any:
    """The same of a pandas DataFrame that holds all rows of its users."""
    by, user = list(names), names[-1]
    counted = block[by].groupby(by, sort=True, dropna=False).size().reset_index(name="_c")
    whole = counted.groupby(user, sort=False, dropna=False)["_c"]
    to, of = whole.cumsum(), whole.transform("sum")
    found = counted[by].reset_index(drop=True)
    shares = floors((to - counted["_c"]).to_numpy(), counted["_c"].to_numpy(), of.to_numpy())
    found[GRAINS] = np.asarray(shares, np.int64)
    return found


@dataclass(frozen=True)
class WithGrains:
    """From rows of a record's numbers and its grains to records beside their grains, shape
    (n, d + 1); it travels to the workers.

    `place`: from numbers to records.
    """

    place: Answer

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[Any]:
        """Records, then grains; integers if records are positions."""
        records = self.place(rows[:, :-1])
        kind = np.int64 if records.ndim == 1 else np.float64
        return np.column_stack([records, rows[:, -1]]).astype(kind)


@dataclass(frozen=True)
class GrainsAt:
    """Grains at each point of a finite universe."""

    n_points: int

    def __call__(self, block: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shape (n_points,)."""
        held = np.zeros(self.n_points, np.int64)
        np.add.at(held, block[:, 0], block[:, 1])
        return held


@dataclass(frozen=True)
class ByDigits:
    """The answer about records with grains: each counts as many times as it has grains."""

    answer: Answer
    steps: tuple[Answer, ...]

    def __call__(self, rows: NDArray[Any]) -> Total:
        """Of a block."""
        answer = lambda which: self.answer(stepped(rows[which], self.steps))  # noqa: E731
        total: Total = by_digits(rows[:, -1].astype(np.int64), answer)
        return total


@dataclass(frozen=True)
class DigitKeys:
    """Keys of the records that have a binary digit in their grains."""

    key: Answer
    steps: tuple[Answer, ...]
    digit: int

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Of a block."""
        having = rows[:, -1].astype(np.int64) >> self.digit & 1 == 1
        found: NDArray[Any] = self.key(stepped(rows[having], self.steps))
        return found


@dataclass(frozen=True)
class KeptGrains:
    """Each grain with a probability, by a coin of its own."""

    share: float

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Records with what is left of their grains; new ones in each reading."""
        kept = rows.copy()
        kept[:, -1] = kept_of(rows[:, -1].astype(np.int64), self.share)
        return kept


def stepped(rows: NDArray[Any], steps: tuple[Answer, ...]) -> NDArray[Any]:
    """Records without their grains, after all steps."""
    records = np.ascontiguousarray(rows[:, :-1])
    for step in steps:
        records = step(records)
    return records


class Weighted(Source):
    """Records of a box, each with its grains.

    `rows` (n, d + 1): points, then grains.
    """

    def __init__(self, rows: NDArray[Any] | Source, steps: tuple[Answer, ...] = ()) -> None:
        self._rows, self._steps = rows, steps

    def sums(self, answer: Answer) -> Total:
        """Of each record as often as it has grains."""
        return sums(self._rows, ByDigits(answer, self._steps))

    def grouped(self, key: Answer) -> Groups:
        """A reading for each binary digit."""
        parts = []
        for digit in range(BITS + 1):
            having = DigitKeys(key, self._steps, digit)
            if isinstance(self._rows, Source):
                keys, counts = self._rows.grouped(having)
                found = np.stack([keys.view(np.int64), counts], axis=1)
            else:
                found = Grouped(having)(self._rows)
            found[:, 1] = (Sums(found[:, 1]) << digit).capped()
            parts.append(found)
        return grouped_parts(parts)

    def mapped(self, step: Answer) -> Weighted:
        """A step more, which may move or leave out records: not their grains."""
        return Weighted(self._rows, (*self._steps, step))

    def thinned(self, share: float) -> Weighted:
        """Each grain with this probability; on an engine drawn anew in each reading."""
        kept = KeptGrains(share)
        held = self._rows.mapped(kept) if isinstance(self._rows, Source) else kept(self._rows)
        return Weighted(held, self._steps)
