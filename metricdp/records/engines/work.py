"""What a worker does with a block of private rows: one vector, or the kind of trouble it met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.digests import sum_of_hashes
from metricdp.records.engines.sources import Answer, Grouped, grouped_parts
from metricdp.records.exact import Sums, Total, exactly
from metricdp.records.ingestion.encoders import RowEncoder, n_rows, opened
from metricdp.records.trouble import Ended, Trouble, attempt, raised

Sum = Total | Trouble
"""Of blocks: what they add up to, or what went wrong in one of them."""
Groups = NDArray[np.int64] | Trouble
"""Of blocks: records by key, under the number of rows and their digest."""


@dataclass(frozen=True)
class Work:
    """Encode, answer and seal a block. Errors say nothing, as engines log exceptions."""

    encode: RowEncoder
    answer: Answer

    @property
    def names(self) -> Sequence[Any]:
        """Columns that a block must have."""
        return self.encode.names

    @property
    def kind(self) -> Any:
        """Type of the answer's numbers, 64 bits."""
        return np.int64 if isinstance(self.start(), Sums) else np.float64

    def start(self) -> Total:
        """The vector of no rows."""
        return self._of(np.empty((0, len(self.encode.columns))))

    def __call__(self, block: Any) -> Sum:
        """The block's vector: the answer, and at its end the number of rows and their digest."""
        done = attempt(lambda: self._of(block))
        return done.trouble if isinstance(done, Ended) else done

    def _of(self, block: Any) -> Total:
        rows = opened(block, self.names)
        first = self.encode.first(rows)
        vector = exactly(self.answer(self.encode.stepped(first)))
        if isinstance(vector, Sums):
            return vector.joined(Sums(np.array([n_rows(rows), digest(first)])))
        # sums of floating-point numbers depend on their order: rows alone are told exactly
        return np.append(vector, [n_rows(rows), 0.0])


@dataclass(frozen=True)
class GroupWork:
    """Encode a block, count its records by key, and seal it.

    `key`: from records to their keys.
    """

    encode: RowEncoder
    key: Answer

    @property
    def names(self) -> Sequence[Any]:
        """Columns that a block must have."""
        return self.encode.names

    def __call__(self, block: Any) -> Groups:
        """The block's groups, shape (n_keys + 1, 2), under the number of rows and their digest."""
        done = attempt(lambda: self._of(block))
        return done.trouble if isinstance(done, Ended) else done

    def _of(self, block: Any) -> NDArray[Any]:
        rows = opened(block, self.names)
        first = self.encode.first(rows)
        groups = Grouped(self.key)(self.encode.stepped(first))
        return np.concatenate([np.array([[n_rows(rows), digest(first)]], np.int64), groups])


def joined(some: Groups, more: Groups) -> Groups:
    """Groups of two blocks together. Digests wrap: they are compared modulo 2^64."""
    if isinstance(some, Trouble) or isinstance(more, Trouble):
        return worse(some, more)
    keys, counts = grouped_parts([some[1:], more[1:]])
    return np.concatenate([some[:1] + more[:1], np.stack([keys.view(np.int64), counts], axis=1)])


def digest(records: NDArray[Any]) -> int:
    """The sum of a hash of each record, in any order."""
    words = np.ascontiguousarray(records)
    words = words.view(np.uint64) if words.dtype.itemsize == 8 else words.astype(np.uint64)
    return int(sum_of_hashes(words[:, None] if words.ndim == 1 else words))


def added(some: Sum, more: Sum) -> Sum:
    """The sum of two vectors; trouble spreads, the worse of two."""
    if isinstance(some, Trouble) or isinstance(more, Trouble):
        return worse(some, more)
    return some + more  # type: ignore[operator]


def worse(*either: Any) -> Trouble:
    """What is trouble among some, at least one: the worst."""
    return max(one for one in either if isinstance(one, Trouble))


def checked(total: Any) -> Any:
    """What was added up, unless something went wrong."""
    if isinstance(total, Trouble):
        raised(total)
    assert not isinstance(total, Trouble)
    return total
