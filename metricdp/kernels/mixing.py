"""The finalizer of splitmix64 (Steele, Lea & Flood, OOPSLA 2014), for hashes and public coins."""

from __future__ import annotations

import numpy as np
from numba import njit

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
