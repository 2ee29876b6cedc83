"""Boxes cut into equal cells, and finer grids inside of coarser ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from metricdp.arrays import Bools, Floats, Ints
from metricdp.kernels.boxes import grid_cells
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import trusted

Places = Ints


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
        return grid_cells(
            np.ascontiguousarray(records), self.universe.lower, self.side, np.array(self.shape)
        )

    @property
    def centers(self) -> Floats:
        """Middle of every cell, shape (n_parts, d)."""
        at = np.stack(np.unravel_index(np.arange(math.prod(self.shape)), self.shape), axis=1)
        return self.universe.lower + (at + 0.5) * self.side


@dataclass(frozen=True, eq=False)
class Block:
    """Cells from `low` to before `high` on each axis, that another grid replaces."""

    low: Places
    high: Places
    grid: NestedGrid

    def holds(self, places: tuple[Places, ...]) -> Bools:
        """Whether each cell is one of them, shape (n,)."""
        return np.logical_and.reduce(
            [
                (low <= place) & (place < high)
                for place, low, high in zip(places, self.low, self.high)
            ]
        )


@trusted
class NestedGrid(Grid):
    """A grid in which disjoint `blocks` of cells give way to grids of their own, and so on. All
    cells of the grid come first, then those of the blocks. A point's part follows from that point
    alone.
    """

    def __init__(
        self, space: EuclideanSpace, n_cells: int | tuple[int, ...], blocks: Sequence[Block] = ()
    ) -> None:
        super().__init__(space, n_cells)
        self.blocks, self.n_own = tuple(blocks), self.n_parts
        self.n_parts = self.n_own + sum(block.grid.n_parts for block in blocks)

    def grids(self) -> Iterator[NestedGrid]:
        """This grid and all inside of it, in the order of their cells."""
        yield self
        for block in self.blocks:
            yield from block.grid.grids()

    def encode(self, records: Floats) -> Ints:
        """Cell of each point, shape (n,)."""
        cell = super().encode(records)
        first = self.n_own
        places = np.unravel_index(cell, self.shape) if self.blocks else ()
        for block in self.blocks:
            inside = np.flatnonzero(block.holds(places))
            cell[inside] = first + block.grid.encode(records[inside])
            first += block.grid.n_parts
        return cell

    @property
    def own_centers(self) -> Floats:
        """Middle of every cell of the outermost grid, shape (n_own, d)."""
        return super().centers

    @property
    def centers(self) -> Floats:
        """Middle of every cell, shape (n_parts, d)."""
        return np.concatenate([grid.own_centers for grid in self.grids()])

    @property
    def diagonals(self) -> Floats:
        """Length of every cell's diagonal, shape (n_parts,)."""
        return np.concatenate(
            [np.full(grid.n_own, np.linalg.norm(grid.side)) for grid in self.grids()]
        )


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


@trusted
class ChosenGrids:
    """The own cells of some grids of a nested grid; all others together are one part, the last.

    `chosen`: boxes of the grids, by identity.
    """

    def __init__(self, nested: NestedGrid, chosen: list[EuclideanSpace]) -> None:
        wanted = {id(space) for space in chosen}
        self.universe = nested.universe
        self.nested = nested
        self.grids = [grid for grid in nested.grids() if id(grid.universe) in wanted]
        own = [np.full(grid.n_own, id(grid.universe) in wanted) for grid in nested.grids()]
        cells = np.concatenate(own)
        self.n_parts = int(cells.sum()) + 1
        self.part = np.where(cells, np.cumsum(cells) - 1, self.n_parts - 1)

    def encode(self, records: Floats) -> Places:
        """Part of each point, shape (n,)."""
        return self.part[self.nested.encode(records)]
