"""Contribution bounds: what is kept of each user's records, a sample (`Bounding`), all of them with
weights that sum to one (`SharesOfOne`), or only their number (`LogSizes`).

A rule is a function of all records of some users. In this process it gets all records at once; on
an engine, which sorts rows by user, it gets blocks that hold all rows of their users.

**Privacy.** What a rule keeps of a user depends on that user's records (in any order), public facts
and one secret key alone, drawn when the demand is made. So for each key neighbors keep multisets
that differ in what is kept of one user; averaging over keys preserves it (joint convexity). This
holds whatever the hash. The same records are kept in every reading, on every engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.errors import InputError
from metricdp.kernels.mixing import hashes
from metricdp.records.ingestion.columns import column, texts
from metricdp.records.ingestion.encoders import USER, Reading

WHOLE = 1 << 16
"""Fixed-point weight units of one user's weight of 1."""


class UserRule(ABC):
    """A contribution bound: maps all records of each user to those that are kept."""

    weighted: ClassVar[bool] = False
    """Whether kept records have weights, in the last column."""

    @abstractmethod
    def kept(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """The kept ones of `records` (n,) or (n, d), which must be all records of `users` (n,)."""

    def rows(self, block: Any, reading: Reading) -> dict[str, Any]:
        """The kept rows of a block, as columns; if any row could not be read, only the rows that
        report why.
        """
        users = texts(column(block, USER))
        numbers: list[NDArray[Any]] = [
            np.asarray(column(block, name), reading.kind) for name in reading.names[:-1]
        ]
        errors = np.array([user is None for user in users], bool)
        if errors.any():
            codes = [each[errors] for each in (*numbers, *numbers[: self.weighted])]
            return reading.named(codes, [None] * len(codes[0]))
        records = np.column_stack(numbers) if reading.encode.empty().ndim > 1 else numbers[0]
        found = np.atleast_2d(self.kept(users, records).T)
        return reading.named([*found], ["kept"] * found.shape[1])


@dataclass(frozen=True)
class Bounding(UserRule):
    """At most `records` of each user in a part of a public partition, and in at most `parts` parts.

    A user's records are sorted by a keyed hash of (user, record, j), where equal records are
    numbered j = 0, 1, …. A record is kept if its part is among the first `parts` in that order, and
    fewer than `records` of the user's were kept in it. Without `areas` there is one part: a sample
    of `records` of the user's, uniform for a random hash.

    `key`: secret; `areas` (n_points,): part of each point of a finite universe.
    """

    parts: int
    records: int
    key: str
    areas: Ints | None = None

    def kept(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """Up to `parts` times `records` of each user, in their order."""
        codes, known = numbered(users, len(records))
        if records.ndim == 1:  # positions: a record beyond the snapping limit (-1) uses up no bound
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
        """A keyed hash of each user; 0 for those so few records that all are kept in any order."""
        all_kept = self.records if self.areas is None else min(self.parts, self.records)
        seeds = np.zeros(len(known), np.uint64)
        for i in np.flatnonzero(np.bincount(codes) > all_kept).tolist():
            text = f"{self.key}|{known[i]}".encode("utf-8", "surrogatepass")
            seeds[i] = int.from_bytes(sha256(text).digest()[:8], "big")
        return seeds


@dataclass(frozen=True)
class SharesOfOne(UserRule):
    """All records of each user, with weights that sum to one unit: of r records, sorted by their
    coordinates, the first i together have floor(`WHOLE` · i / r) fixed-point units.

    **Privacy.** A user adds exactly WHOLE units, none negative: at most m = WHOLE contributions of
    one unit each for every query. Rounding each share by itself could exceed that: the audit keeps
    it as a mutant. Nothing is drawn.
    """

    weighted = True

    def kept(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """The records and their weights, shape (n, d + 1)."""
        codes, _ = numbered(users, len(records))
        place = ranks([codes], axes_of(records))
        of = np.bincount(codes)[codes]
        return np.column_stack([records, WHOLE * (place + 1) // of - WHOLE * place // of])


@dataclass(frozen=True)
class LogSizes(UserRule):
    """One record a user: the least j such that the user has at most 2^j records, or `most`."""

    most: int

    def kept(self, users: Sequence[Hashable], records: NDArray[Any]) -> NDArray[Any]:
        """j of each user."""
        return self.of(users)

    def of(self, users: Sequence[Hashable]) -> Ints:
        """j of each user: only the number of records matters."""
        sizes = np.bincount(numbered(users, len(users))[0])
        bounds = 2 ** np.arange(self.most, dtype=np.int64)
        return np.searchsorted(bounds, sizes, side="left").astype(np.int64)


def numbered(users: Sequence[Hashable], n_records: int) -> tuple[Ints, Sequence[Hashable]]:
    """The index of each record's user in order of first appearance, and the users."""
    if len(users) != n_records or any(u is None or u != u for u in users):
        raise InputError("one user per record")
    number: dict[Hashable, int] = {}
    codes = np.fromiter((number.setdefault(u, len(number)) for u in users), np.int64, n_records)
    return codes, list(number)


def axes_of(records: NDArray[Any]) -> list[NDArray[Any]]:
    """The coordinates of records, one array each, with -0.0 as 0.0."""
    return [np.ascontiguousarray(axis) + 0 for axis in np.atleast_2d(records.T)]


def ranks(groups: list[NDArray[Any]], order: list[NDArray[Any]]) -> Ints:
    """The rank of each row, from 0, among the rows of equal `groups`, sorted by `order`."""
    at = np.lexsort([*reversed(order), *reversed(groups)])
    first = np.ones(len(at), bool)
    first[1:] = np.any([each[at][1:] != each[at][:-1] for each in groups], axis=0)
    starts = np.flatnonzero(first)
    found = np.empty(len(at), np.int64)
    found[at] = np.arange(len(at)) - np.repeat(starts, np.diff([*starts, len(at)]))
    return found


def whole_users(batches: Iterable[Any]) -> Iterator[Any]:
    """Arrow batches sorted by user, regrouped into tables that have all rows of their users."""
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
