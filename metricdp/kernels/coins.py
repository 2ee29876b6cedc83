"""Public coins of searches that are compiled."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_27, _30, _31, _11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53
"""Constants of splitmix64 (Steele, Lea & Flood, OOPSLA 2014), and of doubles in [0, 1)."""


@njit(cache=True, nogil=True)
def uniform(coins: NDArray) -> float:
    """The next number in [0, 1) of a splitmix64 stream."""
    coins[0] += _MIX[0]
    z = coins[0]
    z = (z ^ (z >> _30)) * _MIX[1]
    z = (z ^ (z >> _27)) * _MIX[2]
    z = z ^ (z >> _31)
    return np.float64(z >> _11) * _UNIT
