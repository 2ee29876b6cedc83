"""Public random numbers for compiled searches."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.mixing import GOLDEN, mixed


@njit(cache=True, nogil=True)
def uniform(coins: NDArray) -> float:
    """The next number in [0, 1) of a splitmix64 stream."""
    coins[0] += GOLDEN
    return np.float64(mixed(coins[0]) >> np.uint64(11)) * 2.0**-53
