"""What a worker does with a block of private rows: one sealed answer, or the trouble it met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.digests import sum_of_hashes
from metricdp.records.engines.sources import Answer, grouped_parts
from metricdp.records.exact import Sums, exactly
from metricdp.records.ingestion.encoders import RowEncoder, columns_of, n_rows
from metricdp.records.trouble import Ended, Trouble, attempt, raised

Sum = Any
"""Of blocks: `Total` of `Work`, an array of `GroupWork`; `Trouble` if one of them met any."""


@dataclass(frozen=True)
class Work:
    """Encode, answer and seal a block: the answer, and at its end the number of rows and their
    digest. Errors say nothing, as engines log exceptions.
    """

    encode: RowEncoder
    answer: Answer

    @property
    def names(self) -> Sequence[str]:
        """Columns that a block must have."""
        return self.encode.names

    def start(self) -> Sum:
        """What no rows come to."""
        return self._of(np.empty((0, len(self.encode.columns))))

    def __call__(self, block: Any) -> Sum:
        """Of a block."""
        done = attempt(lambda: self._of(block))
        return done.trouble if isinstance(done, Ended) else done

    def _of(self, block: Any) -> Sum:
        rows = columns_of(block, self.names)
        first = self.encode.first(rows)
        return self._sealed(self.answer(self.encode.stepped(first)), n_rows(rows), digest(first))

    def _sealed(self, answer: Any, n_rows: int, digest: int) -> Sum:
        vector = exactly(answer)
        if isinstance(vector, Sums):
            return vector.joined(Sums(np.array([n_rows, digest])))
        # sums of floating-point numbers depend on their order: rows alone are counted exactly
        return np.append(vector, [n_rows, 0.0])

    def added(self, some: Sum, more: Sum) -> Sum:
        """What two parts come to; trouble spreads, the worse of two."""
        trouble = [part for part in (some, more) if isinstance(part, Trouble)]
        return max(trouble) if trouble else self._joined(some, more)

    def _joined(self, some: Sum, more: Sum) -> Sum:
        return some + more


class GroupWork(Work):
    """Likewise of records by key, as `Grouped` gives them: (n_keys + 1, 2), the seal first. Digests
    wrap: they are compared modulo 2^64.
    """

    def _sealed(self, answer: Any, n_rows: int, digest: int) -> Sum:
        return np.concatenate([np.array([[n_rows, digest]], np.int64), answer])

    def _joined(self, some: Sum, more: Sum) -> Sum:
        keys, counts = grouped_parts([some[1:], more[1:]])
        groups = np.stack([keys.view(np.int64), counts], axis=1)
        return np.concatenate([some[:1] + more[:1], groups])


def digest(records: NDArray[Any]) -> int:
    """The sum of a hash of each record, in any order."""
    words = np.ascontiguousarray(records)
    words = words.view(np.uint64) if words.dtype.itemsize == 8 else words.astype(np.uint64)
    return int(sum_of_hashes(words[:, None] if words.ndim == 1 else words))


def checked(total: Sum) -> Any:
    """What was added up, unless something went wrong."""
    if isinstance(total, Trouble):
        raised(total)
    return total
