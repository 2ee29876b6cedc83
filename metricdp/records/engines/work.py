"""What a worker computes from a block of private rows: a sealed answer, or a kind of error."""

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
"""A sum over blocks: `Total` for `Work`, an array for `GroupWork`, `Trouble` if any failed."""


@dataclass(frozen=True)
class Work:
    """Encodes a block and answers about its records. The answer is sealed: the number of rows and
    their digest are appended. Only the kind of an error is returned, as engines log exceptions.
    """

    encode: RowEncoder
    answer: Answer

    @property
    def names(self) -> Sequence[str]:
        """The columns that are read."""
        return self.encode.names

    def start(self) -> Sum:
        """The sum over no rows."""
        return self._of(np.empty((0, len(self.encode.columns))))

    def __call__(self, block: Any) -> Sum:
        """The sealed answer of a block."""
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
        """The sum of two parts; if either failed, the worse kind of error."""
        trouble = [part for part in (some, more) if isinstance(part, Trouble)]
        return max(trouble) if trouble else self._joined(some, more)

    def _joined(self, some: Sum, more: Sum) -> Sum:
        return some + more


class GroupWork(Work):
    """`Work` for counts by key, as `Grouped` returns them: (n_keys + 1, 2), the seal in the first
    row. Digests wrap around: they are compared modulo 2^64.
    """

    def _sealed(self, answer: Any, n_rows: int, digest: int) -> Sum:
        return np.concatenate([np.array([[n_rows, digest]], np.int64), answer])

    def _joined(self, some: Sum, more: Sum) -> Sum:
        keys, counts = grouped_parts([some[1:], more[1:]])
        groups = np.stack([keys.view(np.int64), counts], axis=1)
        return np.concatenate([some[:1] + more[:1], groups])


def digest(records: NDArray[Any]) -> int:
    """The sum of a hash of each record, which does not depend on their order."""
    words = np.ascontiguousarray(records)
    words = words.view(np.uint64) if words.dtype.itemsize == 8 else words.astype(np.uint64)
    return int(sum_of_hashes(words[:, None] if words.ndim == 1 else words))


def checked(total: Sum) -> Any:
    """The total; raises if a block failed."""
    if isinstance(total, Trouble):
        raised(total)
    return total
