"""Cells of a randomly shifted quadtree in integers; a hash of its path cuts a cell."""

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from metricdp.kernels.mixing import GOLDEN, mixed

BITS = 48
"""A box has 2**BITS steps along each coordinate."""
MOST_START_BITS = 14
"""A coarse grid of at most 2**14 squares, from which points descend: the table stays in caches."""
MOST_CUTS = 30
"""Cuts across one coordinate after which a side of 2**BITS steps still has one."""


@njit(cache=True, nogil=True, inline="always")
def _child_key(key: int, upper: int) -> int:
    """Key of the lower or upper half of a cell; the two always differ."""
    return mixed(uint64(key) + (uint64(upper) + uint64(1)) * GOLDEN)


@njit(cache=True, nogil=True, inline="always")
def _cut(key: int, low: int, size: int) -> int:
    """Where a cell is cut: each half keeps at least a third of its side. 2 <= size <= 2**48."""
    third = (uint64(size) + uint64(2)) // uint64(3)
    places = uint64(size) - uint64(2) * third + uint64(1)
    coin = mixed(uint64(key) ^ uint64(0xD1B54A32D192ED03)) >> uint64(32)
    shift = (((places >> uint64(16)) * coin) >> uint64(16)) + (
        ((places & uint64(0xFFFF)) * coin) >> uint64(32)
    )
    return uint64(low) + third + min(shift, places - uint64(1))


@njit(cache=True, nogil=True, inline="always")
def _enter_half(key: int, low: NDArray, size: NDArray, axis: int, place: int) -> tuple[int, int]:
    """Shrink a cell to the half that contains a position; returns its key and which half."""
    cut = _cut(key, low[axis], size[axis])
    if place < cut:
        size[axis] = cut - low[axis]
        return _child_key(key, 0), uint64(0)
    size[axis] = low[axis] + size[axis] - cut
    low[axis] = cut
    return _child_key(key, 1), uint64(1)


@njit(cache=True, nogil=True)
def root_key(limbs: NDArray) -> int:
    """Key of the root from the 64-bit limbs of the seed (uint64)."""
    key = uint64(0)
    for limb in limbs:
        key = mixed((key ^ limb) + GOLDEN)
    return key


@njit(cache=True, nogil=True)
def path_keys(grid: NDArray, axes: NDArray, root: int) -> NDArray:
    """Keys of the cells of every point, from the root down; depth i cuts ``axes[i]``."""
    n, d = grid.shape
    depth = len(axes)
    keys = np.empty((n, depth + 1), np.uint64)
    low, size = np.empty(d, np.uint64), np.empty(d, np.uint64)
    for i in range(n):
        key = uint64(root)
        low[:], size[:] = uint64(0), uint64(1) << uint64(BITS)
        keys[i, 0] = key
        for level in range(depth):
            key, _ = _enter_half(key, low, size, axes[level], grid[i, axes[level]])
            keys[i, level + 1] = key
    return keys


@njit(cache=True, nogil=True)
def path_bits(grid: NDArray, axes: NDArray, root: int, start: int) -> NDArray:
    """Which half of each cell from depth `start` on every point is in: at most 64 bits."""
    n, d = grid.shape
    found = np.zeros(n, np.uint64)
    low, size = np.empty(d, np.uint64), np.empty(d, np.uint64)
    for i in range(n):
        key = uint64(root)
        bits = uint64(0)
        low[:], size[:] = uint64(0), uint64(1) << uint64(BITS)
        for level in range(len(axes)):
            key, upper = _enter_half(key, low, size, axes[level], grid[i, axes[level]])
            if level >= start:
                bits = (bits << uint64(1)) | upper
        found[i] = bits
    return found


@njit(cache=True, nogil=True)
def split_cells(
    keys: NDArray, low: NDArray, size: NDArray, axis: NDArray
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Cut each cell across its `axis`: where, and keys, corners and sizes of the halves."""
    m, d = low.shape
    cut = np.empty(m, np.uint64)
    child = np.empty(2 * m, np.uint64)
    child_low = np.empty((2 * m, d), np.uint64)
    child_size = np.empty((2 * m, d), np.uint64)
    for v in range(m):
        j = axis[v]
        at = _cut(keys[v], low[v, j], size[v, j])
        cut[v] = at
        for upper in range(2):
            c = 2 * v + upper
            child[c] = _child_key(keys[v], upper)
            child_low[c], child_size[c] = low[v], size[v]
        child_size[2 * v, j] = at - low[v, j]
        child_low[2 * v + 1, j] = at
        child_size[2 * v + 1, j] = low[v, j] + size[v, j] - at
    return cut, child, child_low, child_size


@njit(cache=True, nogil=True)
def steps_of(points: NDArray, lower: NDArray, upper: NDArray) -> NDArray:
    """Points of a box in integer steps from its lower corner, each by itself."""
    n, d = points.shape
    found = np.empty((n, d), np.uint64)
    for i in range(n):
        for j in range(d):
            step = np.floor((points[i, j] - lower[j]) / (upper[j] - lower[j]) * 2.0**BITS)
            found[i, j] = np.uint64(min(step, 2.0**BITS - 1))
    return found


@njit(cache=True, nogil=True)
def cells_of(grid: NDArray, child: NDArray, cut: NDArray, axis: NDArray) -> NDArray:
    """The leaf cell of every point. `child`: first half of each split cell, -1 of leaves.

    Many points start below the root, at the smallest cell that contains all of a public coarse
    grid's square around them: the same cell in fewer steps.
    """
    n, d = grid.shape
    bits = 0
    while (bits + 1) * d <= MOST_START_BITS and n >> ((bits + 1) * d) >= 4:
        bits += 1
    shift = uint64(BITS - bits)
    # For each square of the coarse grid the smallest cell that contains it.
    start = np.zeros(1 << (bits * d), np.int64)
    low = np.zeros(d, np.uint64)
    for square in range(len(start)):
        for j in range(d):
            low[j] = uint64((square >> ((d - 1 - j) * bits)) & ((1 << bits) - 1)) << shift
        v = 0
        while child[v] >= 0:
            at = low[axis[v]]
            if at >= cut[v]:
                v = child[v] + 1
            elif at + ((uint64(1) << shift) - uint64(1)) < cut[v]:
                v = child[v]
            else:
                break
        start[square] = v
    found = np.empty(n, np.int64)
    for i in range(n):
        place = np.int64(0)
        for j in range(d):
            place = (place << np.int64(bits)) | np.int64(grid[i, j] >> shift)
        v = start[place]
        while child[v] >= 0:
            v = child[v] + 1 if grid[i, axis[v]] >= cut[v] else child[v]
        found[i] = v
    return found
