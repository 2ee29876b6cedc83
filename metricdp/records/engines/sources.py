"""Records of which only sums are computed: counts by point, blocks on an engine, and records with
integer weights from 0 to 2^16, where a record of weight w counts as w records.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.errors import ReadingError
from metricdp.records.exact import (
    ROWS,
    Total,
    by_digits,
    combined,
    exact_sum,
    grouped_sum,
    to_array,
)

Answer = Callable[[NDArray[Any]], Any]
"""Maps a block of records to an array or `Sums` to which each record adds independently."""


class Source(ABC):
    """Private records that are summed over, never listed."""

    @abstractmethod
    def sums(self, answer: Answer) -> Total:
        """The sum of `answer` over all blocks of records; exact for integers."""

    def total(self, answer: Answer) -> NDArray[Any]:
        """`sums` in 64 bits: integers are saturated at 2^61 on both sides."""
        return to_array(self.sums(answer))

    def grouped(self, key: Answer) -> Groups:
        """Sorted distinct keys of 64 bits and the number of records of each, from one reading."""
        return self.groups(Grouped(key))

    def groups(self, of: Answer) -> Groups:
        """Counts by key, where `of` maps a block to keys and counts, as `Grouped` does."""
        return Gathered(of).all_of(self.sums)

    @abstractmethod
    def mapped(self, step: Answer) -> Source:
        """The records that `step` makes of these, block by block (a stable transformation)."""

    @abstractmethod
    def subsampled(self, share: float) -> Source | NDArray[Any]:
        """A Poisson subsample: each record with probability `share`."""

    def __reduce__(self) -> Any:
        raise TypeError("a source is not pickled: it leads to private records")


Groups = tuple[NDArray[np.uint64], Ints]
"""Sorted distinct keys, and their counts."""


@dataclass(frozen=True)
class Grouped:
    """Counts of a block's records by 64-bit key: keys and counts as integers (n_keys, 2)."""

    key: Answer

    def __call__(self, block: NDArray[Any]) -> Ints:
        """Distinct keys and their counts."""
        keys, counts = np.unique(self.key(block).astype(np.uint64, copy=False), return_counts=True)
        return np.stack([keys.view(np.int64), counts.astype(np.int64)], axis=1)


class Gathered:
    """Collects blocks' counts by key in this process; its answer is the number of records."""

    def __init__(self, of: Answer) -> None:
        self.parts: list[Ints] = []
        self._of = of

    def __call__(self, block: NDArray[Any]) -> Ints:
        """The number of records that have a key, shape (1,)."""
        part = self._of(block)
        self.parts.append(part)
        return np.array([exact_sum(part[:, 1])])

    def all_of(self, sums: Callable[[Answer], Total]) -> Groups:
        """Counts by key from one reading by `sums`; raises if some did not arrive here."""
        if sums(self).tolist() != [sum(exact_sum(part[:, 1]) for part in self.parts)]:
            raise ReadingError("keys of records were lost on their way")
        return grouped_parts(self.parts)


def grouped_parts(parts: Sequence[Ints]) -> Groups:
    """Counts by key of some blocks, merged; counts are saturated at 2^61."""
    whole = np.concatenate([np.empty((0, 2), np.int64), *parts])
    keys, place = np.unique(whole[:, 0].view(np.uint64), return_inverse=True)
    return keys, grouped_sum(place, whole[:, 1], len(keys))


class Listed(Source):
    """Records in an array in memory."""

    def __init__(self, records: NDArray[Any]) -> None:
        self._records = records

    def sums(self, answer: Answer) -> Total:
        """The sum of `answer`, in blocks."""
        return sums(self._records, answer)

    def mapped(self, step: Answer) -> Listed:
        """The mapped records."""
        return Listed(step(self._records))

    def subsampled(self, share: float) -> NDArray[Any]:
        """A Poisson subsample, an array."""
        return Coins(share)(self._records)


class Tally(Source):
    """Records of a finite universe as counts of its points.

    `points` (n,): positions, perhaps with repeats; `counts` (n,): records at each.
    """

    def __init__(self, points: Ints, counts: Ints) -> None:
        self.points, place = np.unique(np.asarray(points, np.int64), return_inverse=True)
        self.counts = grouped_sum(place, np.asarray(counts, np.int64), len(self.points))

    def sums(self, answer: Answer) -> Total:
        """One block for each binary digit of the counts: O(n · log(largest count)) time."""
        return by_digits(self.counts, lambda which: answer(self.points[which]))

    def mapped(self, step: Answer) -> Tally:
        """The records of the points that remain; only for steps that drop points."""
        kept = np.isin(self.points, step(self.points))
        return Tally(self.points[kept], self.counts[kept])

    def subsampled(self, share: float) -> Tally:
        """A Poisson subsample: a binomial number of each count."""
        return Tally(self.points, kept_of(self.counts, share))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Distinct points and their counts: ``np.unique(records, return_counts=True)``."""
        known = function is np.unique and len(args) == 1 and kwargs == {"return_counts": True}
        return (self.points, self.counts) if known else NotImplemented


def size(records: NDArray[Any] | Source) -> int | None:
    """Number of records, or None where they would have to be read again."""
    if isinstance(records, Tally):
        return exact_sum(records.counts)
    return None if isinstance(records, Source) else len(records)


def sums(records: NDArray[Any] | Source, answer: Answer) -> Total:
    """The sum of `answer` over all records."""
    if isinstance(records, Source):
        return records.sums(answer)
    starts = range(0, max(len(records), 1), ROWS)
    return combined((0, answer(records[start : start + ROWS])) for start in starts)


def total(records: NDArray[Any] | Source, answer: Answer) -> NDArray[Any]:
    """`sums` in 64 bits: integers are saturated at 2^61 on both sides."""
    return to_array(sums(records, answer))


def subsampled(records: NDArray[Any] | Source, share: float) -> NDArray[Any] | Source:
    """A Poisson subsample with probability `share`, drawn by the operating system's entropy."""
    return records.subsampled(share) if isinstance(records, Source) else Coins(share)(records)


def mapped(records: NDArray[Any] | Source, *steps: Answer) -> NDArray[Any] | Source:
    """The records after some steps, applied one after another."""
    for step in steps:
        records = records.mapped(step) if isinstance(records, Source) else step(records)
    return records


def placed(records: NDArray[Any] | Source, encode: Answer, n_parts: int) -> Ints | Tally:
    """The part of each record, 0 to n_parts - 1, as records of a finite universe of the parts."""
    if not isinstance(records, Source):
        found: Ints | Tally = encode(records)
        return found
    return Tally(np.arange(n_parts), records.total(Tallied(encode, n_parts)))


def divided(records: NDArray[Any] | Source, encode: Answer, n_parts: int) -> list[Any]:
    """The records of each part, where `encode` gives the part of each record."""
    if isinstance(records, Source):
        return [records.mapped(InPart(encode, part)) for part in range(n_parts)]
    labels = encode(records)
    ends = np.cumsum(np.bincount(labels, minlength=n_parts))[:-1]
    return np.split(records[np.argsort(labels, kind="stable")], ends)


@dataclass(frozen=True)
class InPart:
    """A step that keeps the records of one part."""

    encode: Answer
    part: int

    def __call__(self, block: NDArray[Any]) -> NDArray[Any]:
        """The records in the part."""
        found: NDArray[Any] = block[self.encode(block) == self.part]
        return found


@dataclass(frozen=True)
class Tallied:
    """Counts the records in each part."""

    encode: Answer
    n_parts: int

    def __call__(self, block: NDArray[Any]) -> Ints:
        """Counts, shape (n_parts,)."""
        counts = np.bincount(self.encode(block), minlength=self.n_parts)
        return counts.astype(np.int64, copy=False)


def kept_of(counts: Ints, share: float) -> Ints:
    """A binomial sample of each count, from a generator with a 256-bit secret seed. Releases of the
    sample are charged without amplification by sampling (`gate.subsampled`), so no guarantee rests
    on these draws.
    """
    coins = np.random.default_rng(np.frombuffer(os.urandom(32), np.uint32))
    return coins.binomial(counts, share)


@dataclass(frozen=True)
class Coins:
    """A step that keeps each record with probability `share`, by 32 fresh bits. Even if an engine
    mixes two readings of a block, one more record adds or removes only itself.
    """

    share: float

    def __call__(self, block: NDArray[Any]) -> NDArray[Any]:
        """The records that stay."""
        return block[
            np.frombuffer(os.urandom(4 * len(block)), np.uint32) < round(self.share * 2.0**32)
        ]


@dataclass(frozen=True)
class WeightAt:
    """The sum of weights at each point of a finite universe."""

    n_points: int

    def __call__(self, rows: Ints) -> Ints:
        """Shape (n_points,), from positions and weights (n, 2)."""
        return grouped_sum(rows[:, 0], rows[:, 1], self.n_points)


@dataclass(frozen=True)
class ByDigits:
    """A weighted sum of `answer` over records after some `steps`, one binary digit of weights at a
    time. Steps may drop records, so they get only the records whose weight has the digit.
    """

    answer: Answer
    steps: tuple[Answer, ...]

    def __call__(self, rows: NDArray[Any]) -> Total:
        """The sum over a block."""
        return by_digits(rows[:, -1].astype(np.int64), lambda which: self._of(rows[which]))

    def _of(self, rows: NDArray[Any]) -> Any:
        records = np.ascontiguousarray(rows[:, :-1])
        for step in self.steps:
            records = step(records)
        return self.answer(records)


class GroupedByDigits(ByDigits):
    """Weight by key of a block's records: (n, 2), keys, which may repeat, and weights."""

    def __call__(self, rows: NDArray[Any]) -> Any:
        """Keys and weights of a block."""
        return np.concatenate(list(self._parts(rows, rows[:, -1].astype(np.int64))))

    def _parts(self, rows: NDArray[Any], weights: Ints) -> Iterator[NDArray[Any]]:
        yield np.empty((0, 2), np.int64)
        for digit in range(int(weights.max(initial=0)).bit_length()):
            yield self._of(rows[weights >> digit & 1 == 1]) << np.array([0, digit])


@dataclass(frozen=True)
class KeptWeights:
    """A Poisson subsample of units of weight: each stays with probability `share`."""

    share: float

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows with subsampled weights, drawn anew in each reading."""
        kept = rows.copy()
        kept[:, -1] = kept_of(rows[:, -1].astype(np.int64), self.share)
        return kept


class Weighted(Source):
    """Records of a box, each with its weight.

    `rows`: of numbers (n, d + 1): points, then weights.
    """

    def __init__(self, rows: NDArray[Any] | Source, steps: tuple[Answer, ...] = ()) -> None:
        self._rows = rows if isinstance(rows, Source) else Listed(rows)
        self._steps = steps

    def sums(self, answer: Answer) -> Total:
        """The weighted sum of `answer`."""
        return self._rows.sums(ByDigits(answer, self._steps))

    def groups(self, of: Answer) -> Groups:
        """Weight by key, from one reading."""
        return self._rows.groups(GroupedByDigits(of, self._steps))

    def mapped(self, step: Answer) -> Weighted:
        """The records after one more step, which may move or drop records, not weights."""
        return Weighted(self._rows, (*self._steps, step))

    def subsampled(self, share: float) -> Weighted:
        """A Poisson subsample of units of weight; an engine draws anew in each reading."""
        return Weighted(self._rows.mapped(KeptWeights(share)), self._steps)
