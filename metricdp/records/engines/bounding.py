"""What is kept of each user's records: a sample (`Bounding`), all with weights (`SharesOfOne`), or
their number (`LogSizes`).

A rule is one function of all records of some users, wherever they are. In this process it gets all
records at once; on an engine, which sorts rows by user, blocks that hold all rows of their users.

**Privacy.** What a rule keeps of a user depends on that user's records (in any order), public facts
and one secret key alone, drawn when the demand is made. So for each key neighbors keep multisets
that differ in what is kept of one user; averaging over keys preserves it (joint convexity). This
holds whatever the hash. The same records are kept in every reading, on every engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Ints
from metricdp.kernels.digests import hashes
from metricdp.records.ingestion.columns import column, texts
from metricdp.records.ingestion.encoders import USER, Reading
from metricdp.refusals import InputError

WHOLE = 1 << 16
"""Fixed-point units of a unit of weight."""


class UserRule(ABC):
    """What is kept of each user's records."""

    weighted: ClassVar[bool] = False
    """Whether what it keeps has weights, in the last column."""

    @abstractmethod
    def kept(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """Of records, shape (n,) or (n, d), all those of their users, one user for each."""

    def rows(self, block: Any, reading: Reading) -> dict[str, Any]:
        """The same of rows that were read, as columns; of rows that could not be read, those that
        say why.
        """
        users = texts(column(block, USER))
        numbers: list[NDArray[Any]] = [
            np.asarray(column(block, name), reading.kind) for name in reading.names[:-1]
        ]
        lost = np.array([user is None for user in users], bool)
        if lost.any():
            codes = [each[lost] for each in (*numbers, *numbers[: self.weighted])]
            return reading.named(codes, [None] * len(codes[0]))
        records = np.column_stack(numbers) if reading.encode.empty().ndim > 1 else numbers[0]
        found = np.atleast_2d(self.kept(users, records).T)
        return reading.named([*found], ["kept"] * found.shape[1])


@dataclass(frozen=True)
class Bounding(UserRule):
    """At most `records` of each user in a part of a public partition, and in at most `parts` parts.

    A user's records come in random order, that of a keyed hash of (user, record, j), where equal
    records are numbered j = 0, 1, …. One is kept if its part is among the first `parts` met and
    holds fewer than `records` of that user's so far. Without `areas` all parts are one: a sample
    of `records` of them, uniform for a random hash.

    `key`: secret; `areas` (n_points,): part of each point of a finite universe.
    """

    parts: int
    records: int
    key: str
    areas: Ints | None = None

    def kept(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """Up to `parts` times `records` of each user, in their order."""
        codes, known = numbered(users, len(records))
        if records.ndim == 1:  # positions: what is too far away (-1) takes no other's place
            codes, records = codes[records >= 0], records[records >= 0]
        areas = np.zeros(len(records), np.int64) if self.areas is None else self.areas[records]
        _, cell = np.unique(codes * (int(areas.max(initial=0)) + 1) + areas, return_inverse=True)
        words = [axis.view(np.uint64) for axis in axes_of(records)]
        words.append(ranks([codes, *words], []).view(np.uint64))
        order = [hashes(self._seeds(codes, known)[codes], np.column_stack(words)), *words]
        place = ranks([cell], order)
        first = np.flatnonzero(place == 0)
        met = np.empty(len(first), np.int64)
        met[cell[first]] = ranks([codes[first]], [order[0][first], cell[first]])
        return records[(place < self.records) & (met[cell] < self.parts)]

    def _seeds(self, codes: Ints, known: Sequence[Hashable]) -> NDArray[np.uint64]:
        """A hash of each user; of those who keep all in any order, 0."""
        few = self.records if self.areas is None else min(self.parts, self.records)
        seeds = np.zeros(len(known), np.uint64)
        for i in np.flatnonzero(np.bincount(codes) > few).tolist():
            text = f"{self.key}|{known[i]}".encode("utf-8", "surrogatepass")
            seeds[i] = int.from_bytes(sha256(text).digest()[:8], "big")
        return seeds


@dataclass(frozen=True)
class SharesOfOne(UserRule):
    """All records of each user, with one unit of weight spread over them in integers: of r records
    in the order of their places the first i have floor(`WHOLE` · i / r) together.

    **Privacy.** A user adds exactly WHOLE units, none negative: at most m = WHOLE contributions of
    one unit each for every query. Rounding each share by itself could exceed that: the audit keeps
    it as a mutant. Nothing is drawn.
    """

    weighted = True

    def kept(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """Beside their weights."""
        codes, _ = numbered(users, len(records))
        place = ranks([codes], axes_of(records))
        of = np.bincount(codes)[codes]
        return np.column_stack([records, WHOLE * (place + 1) // of - WHOLE * place // of])


@dataclass(frozen=True)
class LogSizes(UserRule):
    """One record a user: the least j with at most 2^j records, `most` at most."""

    most: int

    def kept(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """j of each user."""
        return self.of(users)

    def of(self, users: Sequence[Hashable]) -> Ints:
        """The same: where records are does not matter."""
        sizes = np.bincount(numbered(users, len(users))[0])
        bounds = 2 ** np.arange(self.most, dtype=np.int64)
        return np.searchsorted(bounds, sizes, side="left").astype(np.int64)


def numbered(users: Sequence[Hashable], n_records: int) -> tuple[Ints, Sequence[Hashable]]:
    """Number of each record's user, in the order in which users come, and the users."""
    if len(users) != n_records or any(u is None or u != u for u in users):
        raise InputError("one user per record")
    number: dict[Hashable, int] = {}
    codes = np.fromiter((number.setdefault(u, len(number)) for u in users), np.int64, n_records)
    return codes, list(number)


def axes_of(records: NDArray[Any]) -> list[NDArray[Any]]:
    """The numbers that records are made of; -0.0 is 0.0."""
    return [np.ascontiguousarray(axis) + 0 for axis in np.atleast_2d(records.T)]


def ranks(groups: list[NDArray[Any]], order: list[NDArray[Any]]) -> Ints:
    """Place of each row, from 0, in the order of some columns, among those of equal groups."""
    at = np.lexsort([*reversed(order), *reversed(groups)])
    first = np.ones(len(at), bool)
    first[1:] = np.any([each[at][1:] != each[at][:-1] for each in groups], axis=0)
    starts = np.flatnonzero(first)
    found = np.empty(len(at), np.int64)
    found[at] = np.arange(len(at)) - np.repeat(starts, np.diff([*starts, len(at)]))
    return found


def whole_users(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of Arrow in the order of users, as tables that have all rows of their users."""
    import pyarrow as pa

    held: list[Any] = []
    last = None
    for batch in batches:
        users = batch.column(USER).to_pylist()
        if not users:
            continue
        start = users.index(users[-1])
        if start or (held and users[-1] != last):
            yield pa.Table.from_batches([*held, batch.slice(0, start)])
            held = []
        held.append(batch.slice(start))
        last = users[-1]
    if held:
        yield pa.Table.from_batches(held)
