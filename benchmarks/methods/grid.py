"""Boxes cut into equal cells."""

from __future__ import annotations

import math

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import trusted


@trusted
class Grid:
    """At most `n_cells` nearly cubic cells: `shape` along each axis, of size `side`."""

    def __init__(self, space: EuclideanSpace, n_cells: int | tuple[int, ...]) -> None:
        self.universe = space
        self.shape = (
            n_cells if isinstance(n_cells, tuple) else _shape(space.upper - space.lower, n_cells)
        )
        self.n_parts = math.prod(self.shape)
        self.side = (space.upper - space.lower) / self.shape

    def encode(self, records: Floats) -> Ints:
        """Cell of each point, shape (n,)."""
        places = (records - self.universe.lower) / self.side
        cells = np.clip(places, 0, np.array(self.shape) - 1).astype(np.int64)
        return np.ravel_multi_index(cells.T, self.shape)

    @property
    def centers(self) -> Floats:
        """Middle of every cell, shape (n_parts, d)."""
        at = np.stack(np.unravel_index(np.arange(math.prod(self.shape)), self.shape), axis=1)
        return self.universe.lower + (at + 0.5) * self.side


def _shape(extent: Floats, n_cells: int) -> tuple[int, ...]:
    """Cells along each axis, in proportion to its extent, at least one."""
    counts = np.ones(len(extent), np.int64)
    left = float(max(n_cells, 1))
    for done, axis in enumerate(np.argsort(extent)):
        rest = np.sort(extent)[done:]
        share = extent[axis] / np.exp(np.log(rest).mean()) * left ** (1 / len(rest))
        counts[axis] = max(1, int(share + 1e-9))
        left = max(left / counts[axis], 1.0)
    return tuple(counts.tolist())
