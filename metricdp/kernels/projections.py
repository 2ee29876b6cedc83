"""Linear maps of points, and distances to centers: record by record, in fixed order."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def projected(
    points: NDArray[np.float64], origin: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``rows @ (x - origin)`` (n, m) in a fixed order: the same bits beside any points."""
    n, d = points.shape
    m = len(rows)
    columns = np.ascontiguousarray(rows.T)
    found = np.zeros((n, m), np.float64)
    for i in range(n):
        for x in range(d):
            away = points[i, x] - origin[x]
            column = columns[x]
            for j in range(m):
                found[i, j] += away * column[j]
    return found


@njit(cache=True, nogil=True)
def squares_from(
    points: NDArray[np.float64], label: NDArray[np.int64], centers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared distance of every point to the center of its label, shape (n,). O(n · d)."""
    found = np.empty(len(points), np.float64)
    for i in range(len(points)):
        total = 0.0
        for x in range(points.shape[1]):
            away = points[i, x] - centers[label[i], x]
            total += away * away
        found[i] = total
    return found
