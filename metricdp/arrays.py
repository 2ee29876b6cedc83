"""Short names for types of arrays, the order of sites, and slices of large arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ENTRIES = 1 << 22
"""Most entries of rows in memory at a time: 32 MB."""


def opened_first(opened: Ints, sites: Ints) -> Ints:
    """The union of both: the required sites first, then the others, ascending."""
    return np.r_[opened, np.setdiff1d(sites, opened)].astype(np.int64)


def chunks(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows of a width, each of at most `ENTRIES` entries (or one row)."""
    step = max(1, ENTRIES // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, start + step)
