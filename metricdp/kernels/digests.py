"""Hashes of rows, and an order-independent digest to compare two readings of the same rows."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.mixing import GOLDEN, mixed

_HALF = np.uint64(29)
_TOP = np.uint64(37)


@njit(cache=True, nogil=True)
def sum_of_hashes(words: NDArray[np.uint64]) -> np.int64:
    """The sum of a hash of 27 bits of each row, below 2^63 for 2^36 rows.

    `words` (n, d).
    """
    total = np.int64(0)
    for i in range(words.shape[0]):
        state = np.uint64(0)
        for j in range(words.shape[1]):
            state = (state ^ words[i, j]) * GOLDEN
            state ^= state >> _HALF
        total += np.int64((state * GOLDEN) >> _TOP)
    return total


@njit(cache=True, nogil=True)
def hashes(seeds: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A 64-bit hash of each row (n, d) under its own seed (n,), by splitmix64's finalizer."""
    found = seeds.copy()
    for i in range(words.shape[0]):
        for j in range(words.shape[1]):
            found[i] = mixed((found[i] ^ words[i, j]) + GOLDEN)
    return found
