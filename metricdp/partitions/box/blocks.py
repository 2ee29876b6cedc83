"""Blocks of a grid's cells, and sums over cells that touch: public arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Bools, Floats
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.grid import Grid, NestedGrid, Places

FINEST = 1e-9
"""Least extent of a block, in its distance from the origin."""


def touching(table: Floats) -> Floats:
    """Sum of every entry and of all that touch it, of the same shape."""
    total = table
    for axis in range(total.ndim):
        padded = np.pad(total, [(1, 1) if i == axis else (0, 0) for i in range(total.ndim)])
        before, here, after = (
            np.take(padded, range(i, i + table.shape[axis]), axis=axis) for i in range(3)
        )
        total = before + here + after
    return total


def box_sums(grid: Grid, values: NDArray[Any]) -> Floats:
    """Sum of the values of every cell and of all that touch it, shape (n_parts,)."""
    return touching(np.asarray(values, np.float64).reshape(grid.shape)).ravel()


def block_of(grid: Grid, low: Places, high: Places) -> EuclideanSpace | None:
    """The box of cells from `low` to before `high`; None if floats are too coarse."""
    lower = grid.universe.lower + low * grid.side
    upper = grid.universe.lower + high * grid.side
    fine = upper - lower > FINEST * np.maximum(np.abs(lower), np.abs(upper))
    return EuclideanSpace(lower, upper) if fine.all() else None


def cover_of(grid: Grid, box: EuclideanSpace) -> tuple[Places, Places]:
    """First place, and the one after the last, of the smallest block around a box."""
    most = np.array(grid.shape)
    low, high = (
        (corner - grid.universe.lower) / grid.side * (1 - 1e-9) for corner in (box.lower, box.upper)
    )
    first = np.floor(low).astype(np.int64).clip(0, most - 1)
    return first, np.clip(np.ceil(high).astype(np.int64), first + 1, most)


def kept_of(grid: NestedGrid) -> Bools:
    """Whether each cell of the outermost grid lies in no block, shape (n_own,)."""
    kept = np.ones(grid.shape, bool)
    for block in grid.blocks:
        kept[tuple(slice(low, high) for low, high in zip(block.low, block.high))] = False
    return kept.ravel()
