"""The finalizer of splitmix64 (Steele, Lea & Flood, OOPSLA 2014), for hashes of rows and public
random numbers; an order-independent digest to compare two readings of the same rows.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Difference of consecutive states of a stream."""
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)


@njit(cache=True, nogil=True, inline="always")
def mixed(x: np.uint64) -> np.uint64:
    """A bijection of 64-bit integers."""
    x = (x ^ (x >> _30)) * _FIRST
    x = (x ^ (x >> _27)) * _SECOND
    return x ^ (x >> _31)


@njit(cache=True, nogil=True)
def uniform(coins: NDArray) -> float:
    """The next number in [0, 1) of a splitmix64 stream."""
    coins[0] += GOLDEN
    return np.float64(mixed(coins[0]) >> np.uint64(11)) * 2.0**-53


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
