"""Exact sums over private records in 128-bit integers, which cannot overflow.

A sum that wraps around changes arbitrarily when one record is added, so no sensitivity would hold.
All code that adds up over records is therefore here:

- A *block* has at most `ROWS` rows, and a row adds at most 2^30, so a block's sum fits int64.
- `Sums` adds up blocks, or digits of counts, and stays below 2^126.
- `Sums.capped` saturates at `CAP` on both sides, once, at the end. Saturating a final sum moves
  neighbors no farther apart; saturating partial sums could.

A test reads the sources of `records` and `privacy`, and refuses sums over records elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints
from metricdp.kernels.scores import CAP

ROWS = 1 << 32
"""Most rows of a block."""
PIECES = 4
"""Pieces of 32 bits that a 128-bit sum is split into, for engines that add in 64 bits."""
_BITS = 32
HALF = (1 << _BITS) - 1
"""Mask of the lower 32 bits of a 64-bit word."""


class Sums:
    """A vector of n exact sums: integers from -2^127 to 2^127 - 1.

    `low` (n,): the lower 64 bits; `high` (n,): the upper 64 bits, by default the sign extension of
    `low`, which is right for sums that fit int64.
    """

    __slots__ = ("_high", "_low", "_most")

    def __init__(self, low: Ints, high: Ints | None = None) -> None:
        if high is not None and (high == low >> 63).all():
            high = None
        self._low = low
        self._high = high
        self._most = 0 if high is None else 2**127
        if high is None and len(low):
            self._most = max(int(low.max()), -int(low.min()))

    @classmethod
    def _of(cls, low: Ints, most: int) -> Sums:
        """Sums that fit int64, of absolute value at most `most`."""
        new = cls.__new__(cls)
        new._low, new._high, new._most = low, None, most
        return new

    def __len__(self) -> int:
        return len(self._low)

    @property
    def _upper(self) -> Ints:
        return self._low >> 63 if self._high is None else self._high

    def __add__(self, other: Sums) -> Sums:
        low = self._low + other._low
        if self._most + other._most < 2**63:
            return Sums._of(low, self._most + other._most)
        carry = low.view(np.uint64) < self._low.view(np.uint64)
        return Sums(low, self._upper + other._upper + carry)

    def __sub__(self, other: Sums) -> Sums:
        return self + Sums(~other._low, ~other._upper) + Sums(np.ones(len(other), np.int64))

    def __lshift__(self, bits: int) -> Sums:
        """Multiplied by 2^bits, for bits from 0 to 63."""
        if not bits:
            return self
        if self._most << bits < 2**63:
            return Sums._of(self._low << bits, self._most << bits)
        over = (self._low.view(np.uint64) >> np.uint64(64 - bits)).view(np.int64)
        return Sums(self._low << bits, self._upper << bits | over)

    def __rshift__(self, bits: int) -> Sums:
        """Divided by 2^bits, for bits from 0 to 63, and rounded down."""
        if self._high is None or not bits:
            return Sums(self._low >> bits, self._high)
        under = (self._low.view(np.uint64) >> np.uint64(bits)).view(np.int64)
        return Sums(under | self._high << (64 - bits), self._high >> bits)

    def __getitem__(self, places: slice | NDArray[Any]) -> Sums:
        return Sums(self._low[places], None if self._high is None else self._high[places])

    def joined(self, more: Sums) -> Sums:
        """This vector with `more` appended."""
        low = np.concatenate([self._low, more._low])
        narrow = self._high is None and more._high is None
        return Sums(low, None if narrow else np.concatenate([self._upper, more._upper]))

    def places(self) -> Ints:
        """Indices of the nonzero sums."""
        return np.flatnonzero(self._low if self._high is None else self._low | self._high)

    def spread(self, places: Ints, n: int) -> Sums:
        """A vector of n sums that has these at the indices `places`, and 0 elsewhere."""
        whole = np.zeros((2, n), np.int64)
        whole[:, places] = self._low, self._upper
        return Sums(whole[0], None if self._high is None else whole[1])

    def capped(self) -> Ints:
        """The sums as int64, saturated at `CAP` on both sides, shape (n,)."""
        if self._most <= CAP:
            return self._low
        inside = np.clip(self._low, -CAP, CAP)
        if self._high is None:
            return inside
        beyond = np.where(self._high < 0, -CAP, CAP)
        return np.where(self._high == self._low >> 63, inside, beyond)

    def tolist(self) -> list[int]:
        """The sums as Python integers, without saturation."""
        low = self._low.view(np.uint64).tolist()
        return [high << 64 | word for high, word in zip(self._upper.tolist(), low)]

    def pieces(self) -> Ints:
        """The sums as pieces of 32 bits (4, n), lowest first, for engines that add in int64."""
        low, high = self._low, self._upper
        return np.stack([low & HALF, low >> _BITS & HALF, high & HALF, high >> _BITS])

    @classmethod
    def of_pieces(cls, pieces: Ints) -> Sums:
        """The sums with these `pieces`, which may themselves be sums of pieces."""
        total = cls(pieces[3])
        for piece in pieces[2::-1]:
            total = (total << _BITS) + cls(piece)
        return total

    @classmethod
    def cumulative(cls, counts: Ints) -> Sums:
        """Prefix sums: of the first 0, 1, …, n counts, shape (n + 1,)."""
        found = combined(
            (bits, np.concatenate([np.zeros(1, np.int64), np.cumsum(digit)]))
            for bits, digit in digits(counts, 1)
        )
        assert isinstance(found, Sums)
        return found


Total = Sums | Floats
"""A sum of answers: exact, or in floating point for what no ledger is charged for."""


def exactly(answer: Any) -> Total:
    """The answer of one block, ready to be added: integers become `Sums`."""
    if isinstance(answer, Sums):
        return answer
    found = np.asarray(answer)
    return Sums(found.astype(np.int64, copy=False)) if found.dtype.kind in "iub" else found


def to_array(total: Total) -> NDArray[Any]:
    """The final array: integers saturated in int64, floating-point numbers unchanged."""
    return total.capped() if isinstance(total, Sums) else total


def shifted(total: Total, bits: int) -> Total:
    """The total multiplied by 2^bits."""
    return total << bits if isinstance(total, Sums) else total * 2.0**bits


def combined(parts: Iterable[tuple[int, Any]]) -> Total:
    """The sum of ``part * 2**bits`` over at least one pair (bits, part); exact for integers."""
    each = (shifted(exactly(part), bits) for bits, part in parts)
    total = next(each)
    for more in each:
        total = total + more  # type: ignore[operator]
    return total


def by_digits(weights: Ints, answer: Any) -> Total:
    """The sum of an answer over weighted rows, one binary digit of the weights at a time.

    `answer`: from a mask (n,) of rows to the sum over these rows, each counted once.
    """
    n_digits = int(weights.max(initial=0)).bit_length()
    masks = (weights >> digit & 1 == 1 for digit in range(n_digits))
    parts = [(digit, answer(mask)) for digit, mask in enumerate(masks) if mask.any()]
    return combined([(0, answer(np.zeros(len(weights), bool))), *parts])


def digits(counts: Ints, largest: int) -> Iterator[tuple[int, Ints]]:
    """Counts split into ``digit << bits`` such that n digits times `largest` fit int64."""
    if exact_sum(counts) * largest < 2**63:
        yield 0, counts
        return
    width = 63 - largest.bit_length() - len(counts).bit_length()
    for bits in range(0, int(counts.max()).bit_length(), width):
        yield bits, counts >> bits & (1 << width) - 1


def exact_sum(counts: Ints) -> int:
    """The sum of the counts as a Python integer, which may exceed int64."""
    return (int((counts >> _BITS).sum()) << _BITS) + int((counts & HALF).sum())


def grouped_sum(place: Ints, counts: Ints, n: int) -> Ints:
    """The sum of the counts in each of n groups, saturated at `CAP`, shape (n,)."""
    halves = np.zeros((2, n), np.int64)
    np.add.at(halves[0], place, counts & HALF)
    np.add.at(halves[1], place, counts >> _BITS)
    return to_array(combined([(0, halves[0]), (_BITS, halves[1])]))
