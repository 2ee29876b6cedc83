"""Counts of many boxes of grid cells from summed-area tables (Crow, SIGGRAPH 1984)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def summed_area(counts: NDArray) -> NDArray:
    """Sums over all boxes of cells that begin at the origin.

    `counts` (g_1, …, g_d).
    """
    table = np.zeros(tuple(n + 1 for n in counts.shape), counts.dtype)
    table[(slice(1, None),) * counts.ndim] = counts
    for axis in range(counts.ndim):
        np.cumsum(table, axis=axis, out=table)
    return table


def lattice_counts(table: NDArray, middles: Sequence[NDArray[np.int64]], radius: int) -> NDArray:
    """Counts of the cells within `radius` steps along every axis of a lattice of cells."""
    for axis, at in enumerate(middles):
        high = np.minimum(at + radius + 1, table.shape[axis] - 1)
        low = np.maximum(at - radius, 0)
        table = np.take(table, high, axis) - np.take(table, low, axis)
    return table


def cell_counts(table: NDArray, cells: Sequence[NDArray[np.int64]], radius: int) -> NDArray:
    """The same around single cells (n_cells,), by their coordinates along each axis."""
    ends = [
        (np.maximum(at - radius, 0), np.minimum(at + radius + 1, n - 1))
        for at, n in zip(cells, table.shape)
    ]
    total = np.zeros(len(cells[0]), table.dtype)
    for corner in itertools.product((0, 1), repeat=len(ends)):
        part = table[tuple(end[which] for end, which in zip(ends, corner))]
        total += part if (len(ends) - sum(corner)) % 2 == 0 else -part
    return total
