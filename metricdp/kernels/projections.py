"""Linear maps of points, and distances to centers: each record by itself, in fixed order."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def projected(
    points: NDArray[np.float64], middle: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``rows @ (x - middle)`` (n, m) in a fixed order: the same bits whoever else is there."""
    n, d = points.shape
    m = len(rows)
    columns = np.ascontiguousarray(rows.T)
    found = np.zeros((n, m), np.float64)
    for i in range(n):
        for x in range(d):
            away = points[i, x] - middle[x]
            column = columns[x]
            for j in range(m):
                found[i, j] += away * column[j]
    return found


@njit(cache=True, nogil=True)
def squares_from(
    points: NDArray[np.float64], label: NDArray[np.int64], centers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared distance of every point to the center that its label names, shape (n,). O(n · d)."""
    found = np.empty(len(points), np.float64)
    for i in range(len(points)):
        total = 0.0
        for x in range(points.shape[1]):
            away = points[i, x] - centers[label[i], x]
            total += away * away
        found[i] = total
    return found


@njit(cache=True, nogil=True)
def place_coins(bits: NDArray[np.uint64], key: int) -> NDArray[np.float64]:
    """A public number in [0, 1) for each row of bits and a key; equal rows get equal ones."""
    found = np.empty(len(bits), np.float64)
    for i in range(len(bits)):
        x = np.uint64(key)
        for j in range(bits.shape[1]):
            x = (x ^ bits[i, j]) + np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
        found[i] = np.float64(x >> np.uint64(11)) * 2.0**-53
    return found
