"""Points clipped to a box, each by itself, in one pass."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def clipped(
    points: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> tuple[NDArray[np.float64], bool]:
    """The nearest point of the box to each point (n, d), and whether all are finite."""
    n, d = points.shape
    inside = np.empty((n, d), np.float64)
    finite = True
    for i in range(n):
        for x in range(d):
            here = points[i, x]
            finite &= abs(here) < np.inf
            inside[i, x] = min(max(here, lower[x]), upper[x])
    return inside, finite
