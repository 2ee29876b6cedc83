"""Points of a box and cells of a grid over it, each point by itself, in one pass."""

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


@njit(cache=True, nogil=True)
def grid_cells(
    points: NDArray[np.float64],
    lower: NDArray[np.float64],
    side: NDArray[np.float64],
    shape: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Number of each point's grid cell (n,), last axis fastest; outside: the nearest place."""
    n, d = points.shape
    cells = np.empty(n, np.int64)
    for i in range(n):
        cell = 0
        for x in range(d):
            place = (points[i, x] - lower[x]) / side[x]
            cell = cell * shape[x] + (
                0 if place < 0 else shape[x] - 1 if place >= shape[x] else int(place)
            )
        cells[i] = cell
    return cells
