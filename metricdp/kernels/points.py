"""Points near a few centers in R^d: every record is treated by itself, in one order of operations, and alike in any company."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def nearest_centers(points: NDArray[np.float64], centers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Nearest center of every point, the first among equals, and the squared distance to it.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    centers : ndarray of float64, shape (k, d)
        At least one.

    Returns
    -------
    label : ndarray of int64, shape (n,)
    square : ndarray of float64, shape (n,)

    Notes
    -----
    O(n · k · d). Sums run over coordinates in order, for all centers side by side; nothing depends on other points.
    """
    n, d = points.shape
    k = len(centers)
    columns = np.ascontiguousarray(centers.T)
    label, square = np.zeros(n, np.int64), np.empty(n, np.float64)
    total = np.empty(k, np.float64)
    for i in range(n):
        total[:] = 0.0
        for x in range(d):
            here = points[i, x]
            column = columns[x]
            for j in range(k):
                away = here - column[j]
                total[j] += away * away
        at = 0
        for j in range(1, k):
            if total[j] < total[at]:
                at = j
        label[i], square[i] = at, total[at]
    return label, square


@njit(cache=True, nogil=True)
def relative_sums(
    records: NDArray[np.float64], parts: NDArray[np.int64], centers: NDArray[np.float64], steps: NDArray[np.float64], bound: int
) -> NDArray[np.int64]:
    """Sum of the records of each part, from the part's center and in its steps, each a vector of integers of length at most `bound`.

    A record farther than `bound` steps from the center is moved onto that sphere; then all coordinates are rounded towards zero.
    A vector that is still too long, by rounding, counts as 0.

    Parameters
    ----------
    records : ndarray of float64, shape (n, d)
    parts : ndarray of int64, shape (n,)
    centers : ndarray of float64, shape (n_parts, d)
    steps : ndarray of float64, shape (n_parts,)
        Positive; the extent of the records is below 2^60 steps.
    bound : int
        At most 2^20.

    Returns
    -------
    ndarray of int64, shape (n_parts, d)
    """
    n, d = records.shape
    sums = np.zeros((len(centers), d), np.int64)
    vector = np.empty(d, np.float64)
    whole = np.empty(d, np.int64)
    for i in range(n):
        part = parts[i]
        square = 0.0
        for x in range(d):
            vector[x] = (records[i, x] - centers[part, x]) / steps[part]
            square += vector[x] * vector[x]
        length = np.sqrt(square)
        shrink = bound / length if length > bound else 1.0
        total = 0
        for x in range(d):
            whole[x] = int(vector[x] * shrink)
            total += whole[x] * whole[x]
        if total <= bound * bound:
            for x in range(d):
                sums[part, x] += whole[x]
    return sums
