"""Records with integer weights from 0 to 2^16: a record of weight w counts as w records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.records.engines.sources import Answer, Groups, Listed, Source, kept_of
from metricdp.records.exact import Total, by_digits, grouped_sum


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
