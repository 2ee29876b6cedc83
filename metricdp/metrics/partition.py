"""What every public partition of a universe can do."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Partition(Protocol):
    """A public partition of a universe. `encode` maps each record *by that record alone*, and keeps
    nothing.
    """

    @property
    def universe(self) -> Any:
        """The public universe that it divides."""

    @property
    def n_parts(self) -> int:
        """Number of parts, empty ones included."""

    def encode(self, records: NDArray[Any], /) -> NDArray[np.int64]:
        """Part of each record, 0..n_parts-1, shape (n_records,)."""
