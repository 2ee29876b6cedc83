"""A box cut into equal cells, the same number side by side wherever one looks along an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.metrics.space import EuclideanSpace


class Grid:
    """About `n_cells` cells, as near to cubes as that number allows.

    Parameters
    ----------
    space : EuclideanSpace
    n_cells : int
        At most so many, at least 1.

    Attributes
    ----------
    universe : EuclideanSpace
    shape : tuple of int
        Cells along each axis.
    n_parts : int
    side : ndarray of float64, shape (d,)
        Of a cell.

    Examples
    --------
    >>> grid = Grid(EuclideanSpace([0, 0], [4, 1]), 16)
    >>> grid.shape, grid.encode(np.array([[0.1, 0.9], [4.0, 1.0]])).tolist(), grid.centers[0].tolist()
    ((8, 2), [1, 15], [0.25, 0.25])
    """

    def __init__(self, space: EuclideanSpace, n_cells: int) -> None:
        self.universe = space
        self.shape = _shape(space.upper - space.lower, n_cells)
        self.n_parts = math.prod(self.shape)
        self.side = (space.upper - space.lower) / self.shape

    def encode(self, records: NDArray[np.float64]) -> NDArray[np.int64]:
        """Cell of each point, shape (n,)."""
        cell = np.zeros(len(records), np.int64)
        for x, n in enumerate(self.shape):
            place = ((records[:, x] - self.universe.lower[x]) / self.side[x]).astype(np.int64)
            cell = cell * n + np.clip(place, 0, n - 1)
        return cell

    @property
    def centers(self) -> NDArray[np.float64]:
        """Middle of every cell, shape (n_parts, d)."""
        at = np.stack(np.unravel_index(np.arange(self.n_parts), self.shape), axis=1)
        return self.universe.lower + (at + 0.5) * self.side

    def box_sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum of the values of every cell and of all that touch it, shape (n_parts,)."""
        total = np.asarray(values, np.float64).reshape(self.shape)
        for axis in range(total.ndim):
            padded = np.pad(total, [(1, 1) if i == axis else (0, 0) for i in range(total.ndim)])
            before, here, after = (np.take(padded, range(i, i + self.shape[axis]), axis=axis) for i in range(3))
            total = before + here + after
        return total.ravel()


def _shape(extent: NDArray[np.float64], n_cells: int) -> tuple[int, ...]:
    """Cells along each axis: in proportion to its extent, an axis shorter than a cell counting as one."""
    counts, left = np.ones(len(extent), np.int64), float(max(n_cells, 1))
    for done, axis in enumerate(np.argsort(extent)):
        rest = np.sort(extent)[done:]
        share = extent[axis] / np.exp(np.log(rest).mean()) * left ** (1 / len(rest))
        counts[axis] = max(1, int(share + 1e-9))
        left = max(left / counts[axis], 1.0)
    return tuple(counts.tolist())
