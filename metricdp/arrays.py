"""Short names for arrays by what they hold, the order of sites, and slices of large arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ENTRIES = 1 << 22
"""Entries of rows that are held at a time: 32 MB."""


def opened_first(opened: Ints, sites: Ints) -> Ints:
    """The sites of both, once each: those that are open already, then the others, ascending."""
    return np.r_[opened, np.setdiff1d(sites, opened)].astype(np.int64)


def chunks(n: int, width: int) -> Iterator[slice]:
    """Slices of 0, …, n - 1, each of as many rows of this width as are held at a time."""
    step = max(1, ENTRIES // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, start + step)
