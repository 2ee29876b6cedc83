"""Boxes of equal intervals along random orthogonal directions, randomly shifted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods.grid import Grid

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
_BLOCK = 1 << 16  # cells at once: memory against calls
_KEYS = 2**62  # keys stay below int64


def directions(dimension: int, n: int, coins: np.random.Generator) -> Array:
    """Random orthogonal directions of length one, shape (n, dimension)."""
    return np.ascontiguousarray(np.linalg.qr(coins.normal(size=(dimension, n)))[0].T)


def middles(grid: Grid, cells: Labels) -> Array:
    """Middles of some cells, shape (n_cells, d)."""
    at = np.stack(np.unravel_index(cells, grid.shape), axis=1)
    return grid.universe.lower + (at + 0.5) * grid.side


@dataclass(frozen=True, eq=False)
class Slabs:
    """Intervals of one width along each of some directions.

    `along` (q, d); `width`: positive; `shift` (q,): where the intervals begin, in widths.
    """

    along: Array
    width: float
    shift: Array

    def places(self, points: Array) -> Labels:
        """Interval of each point along each direction, shape (n, q)."""
        return np.floor(points @ self.along.T / self.width + self.shift).astype(np.int64)

    def middle(self, places: Labels) -> Array:
        """The middles of intervals along the directions, shape (q,)."""
        return (places + 0.5 - self.shift) * self.width

    def boxes(self, grid: Grid) -> tuple[Labels, Labels]:
        """The box of each cell, shape (n_cells,), numbered from 0 without gaps, and the boxes'
        intervals, shape (n_boxes, q).

        O(n_cells · d · q) time, some 65,536 cells at a time.
        """
        label = np.zeros(grid.n_parts, np.int64)
        places = np.concatenate(
            [
                self.places(middles(grid, np.arange(at, min(at + _BLOCK, grid.n_parts))))
                for at in range(0, grid.n_parts, _BLOCK)
            ]
        )
        known = 1
        for place in places.T:
            low = int(place.min())
            extent = int(place.max()) - low + 1
            if known * extent >= _KEYS:
                label = np.unique(label, return_inverse=True)[1].astype(np.int64)
                known = int(label.max()) + 1
            label = label * extent + (place - low)
            known *= extent
        _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
        return inverse.ravel().astype(np.int64), places[first]


def offsets(points: Array, center: Array, radius: float, bits: int) -> Labels:
    """Points in steps of radius / 2^bits from a center, clipped to the ball, rounded to 0."""
    away: Any = (points - center) / radius
    length = np.linalg.norm(away, axis=1, keepdims=True)
    steps = np.trunc(away / np.maximum(length, 1.0) * 2**bits).astype(np.int64)
    inside = (steps**2).sum(axis=1) <= 4**bits
    return np.where(inside[:, None], steps, 0)


def half_diagonal(width: float, n: int) -> float:
    """Half the diagonal of a cube in n dimensions."""
    return width * math.sqrt(n) / 2
