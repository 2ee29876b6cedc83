"""How far points lie from the cuts of a shifted quadtree."""

from __future__ import annotations

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from metricdp.kernels.quadtree_cells import BITS, _child_key, _cut


@njit(cache=True, nogil=True)
def cut_margins(grid: NDArray, axes: NDArray, root: int, unit: NDArray) -> tuple[NDArray, NDArray]:
    """Distance of points from each depth's cut, and the cell's diagonal: both (n, depth)."""
    n, d = grid.shape
    depth = len(axes)
    margin = np.empty((n, depth), np.float64)
    diagonal = np.empty((n, depth), np.float64)
    low = np.empty(d, np.uint64)
    size = np.empty(d, np.uint64)
    for i in range(n):
        key = uint64(root)
        low[:], size[:] = uint64(0), uint64(1) << uint64(BITS)
        for level in range(depth):
            square = 0.0
            for x in range(d):
                square += (float(size[x]) * unit[x]) ** 2
            diagonal[i, level] = np.sqrt(square)
            j = axes[level]
            cut = _cut(key, low[j], size[j])
            upper = grid[i, j] >= cut
            away = grid[i, j] - cut if upper else cut - grid[i, j]
            margin[i, level] = max(float(away), 1.0) * unit[j]
            if upper:
                size[j] = low[j] + size[j] - cut
                low[j] = cut
                key = _child_key(key, 1)
            else:
                size[j] = cut - low[j]
                key = _child_key(key, 0)
    return margin, diagonal
