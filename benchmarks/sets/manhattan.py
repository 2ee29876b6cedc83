"""All L1 distances between points of small integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def manhattan_rows(points: NDArray[np.int16], start: int, stop: int, matrix: NDArray[Any]) -> None:
    """Fill rows `start` to `stop` of a distance matrix, and their mirror images."""
    n, d = points.shape
    for i in range(start, stop):
        here = points[i]
        for j in range(i, n):
            there = points[j]
            total = np.int32(0)
            for x in range(d):
                total += np.int32(abs(np.int32(here[x]) - np.int32(there[x])))
            matrix[i, j] = matrix[j, i] = total
