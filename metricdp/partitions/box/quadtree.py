"""The shifted quadtree of a box (Cohen-Addad et al., KDD 2022, Section 2), by public coins."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import integer, shown
from metricdp.errors import InputError
from metricdp.kernels.points import nearest_centers
from metricdp.kernels.quadtree_cells import (
    BITS,
    MOST_CUTS,
    cells_of,
    path_keys,
    root_key,
    split_cells,
)
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import CellTree, TreeCells, trusted


class ShiftedQuadtree(CellTree):
    """A binary tree of boxes: each cell is cut in two at a random place in the middle third of one
    side.

    A depth cuts across one coordinate, that of the longest nominal side (`axes`). A hash of the
    cell's path and the `seed` says where. `depth` is the public maximum, by default 30 for each
    coordinate. Points are rounded down to steps of 2**-48 of each side; all else is integer
    arithmetic, equal on every machine.
    """

    def __init__(self, space: EuclideanSpace, depth: int | None = None, seed: int = 0) -> None:
        most = MOST_CUTS * space.dimension
        number = most if depth is None else integer(depth) or 0
        if not 1 <= number <= most:
            raise InputError(
                f"depth must be an integer from 1 to {most:,}, 30 for each coordinate; got "
                f"{shown(depth)}"
            )
        self.space = space
        self.depth = number
        self.seed = seed
        self.axes = _axes(space.upper - space.lower, number)
        limbs = [seed >> shift & (2**64 - 1) for shift in range(0, max(seed.bit_length(), 1), 64)]
        self.root = np.uint64(root_key(np.array(limbs, np.uint64)))

    def __repr__(self) -> str:
        return f"ShiftedQuadtree({self.space!r}, depth={self.depth}, seed={self.seed})"

    def grid(self, points: ArrayLike) -> NDArray[np.uint64]:
        """Points of the box in steps from its lower corner (n, d), clipped to it."""
        given = self.space.clip(points)
        steps = np.floor(
            (given - self.space.lower) / (self.space.upper - self.space.lower) * 2.0**BITS
        )
        return np.minimum(steps, 2.0**BITS - 1).astype(np.uint64)

    def cells(self, points: ArrayLike, depth: int | None = None) -> NDArray[np.uint64]:
        """Keys of the cells of every point at depths 0 to `depth`, (n, depth + 1), 64-bit hashes of
        path and seed. Among m cells of a level two share a key with chance m² / 2**65, which is
        harmless for privacy. O(n · (d + depth)).
        """
        return path_keys(self.grid(points), self.axes[:depth], self.root)

    def opened(self) -> OpenedCells:
        """The root alone, closed."""
        zero = np.zeros((1, self.space.dimension), np.uint64)
        whole = np.uint64(2**BITS)
        closed = np.array([-1])
        return OpenedCells(
            self,
            closed,
            closed,
            np.zeros(1, np.uint64),
            np.array([self.root]),
            zero,
            zero + whole,
            np.zeros(1, np.int64),
        )


@trusted
@dataclass(frozen=True, eq=False, repr=False)
class OpenedCells(TreeCells):
    """The top of a shifted quadtree: the closed cells divide the box, a partition for
    `HistogramQuery`.

    Parents come first. `child` is a split cell's first half, the other follows; -1 if closed.
    `cut`, `low`, `size` are in steps; `keys` as `ShiftedQuadtree.cells` has them.
    """

    tree: ShiftedQuadtree
    parent: NDArray[np.int64]
    child: NDArray[np.int64]
    cut: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    low: NDArray[np.uint64]
    size: NDArray[np.uint64]
    level: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"OpenedCells({self.tree!r}, {self.n_parts:,} closed cells)"

    @property
    def universe(self) -> EuclideanSpace:
        """The box."""
        return self.tree.space

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """The closed cells, shape (n_parts,): part i is cell ``leaves[i]``."""
        return np.flatnonzero(self.child < 0)

    @property
    def n_parts(self) -> int:
        """Number of closed cells."""
        return len(self.leaves)

    def encode(self, records: ArrayLike) -> NDArray[np.int64]:
        """Part of each point, shape (n,): by its own coordinates alone."""
        axis = self.tree.axes[np.minimum(self.level, self.tree.depth - 1)]
        part = np.cumsum(self.child < 0) - 1
        return part[cells_of(self.tree.grid(records), self.child, self.cut, axis)]

    def open(self, cells: ArrayLike) -> OpenedCells:
        """These closed cells opened too; those of the last depth stay closed."""
        at = np.unique(np.asarray(cells, np.int64))
        at = at[(self.child[at] < 0) & (self.level[at] < self.tree.depth)]
        cut, keys, low, size = split_cells(
            self.keys[at], self.low[at], self.size[at], self.tree.axes[self.level[at]]
        )
        child = self.child.copy()
        cuts = self.cut.copy()
        child[at] = len(child) + 2 * np.arange(len(at))
        cuts[at] = cut
        none = np.full(2 * len(at), -1)
        return replace(
            self,
            parent=np.r_[self.parent, np.repeat(at, 2)],
            child=np.r_[child, none],
            cut=np.r_[cuts, np.zeros(2 * len(at), np.uint64)],
            keys=np.r_[self.keys, keys],
            low=np.r_[self.low, low],
            size=np.r_[self.size, size],
            level=np.r_[self.level, np.repeat(self.level[at] + 1, 2)],
        )

    def opened_again(self, numbers: ArrayLike) -> OpenedCells:
        """These cells split as `metricdp.privacy.OpeningQuery` decided, down to the last."""
        cells = self
        left = np.asarray(numbers, np.int64)
        while len(left):
            there = left < len(cells.level)
            if not there.any():
                raise InputError("a cell cannot be opened before the one it is half of")
            cells = cells.open(left[there])
            left = left[~there]
        return cells

    @cached_property
    def sides(self) -> NDArray[np.float64]:
        """Lengths of the cells' sides, shape (n_cells, d)."""
        return self.size * 2.0**-BITS * (self.tree.space.upper - self.tree.space.lower)

    @cached_property
    def centers(self) -> NDArray[np.float64]:
        """Middles of the cells, shape (n_cells, d)."""
        middle = (self.low + self.size / 2.0) * 2.0**-BITS
        return self.tree.space.clip(
            self.tree.space.lower + middle * (self.tree.space.upper - self.tree.space.lower)
        )

    @cached_property
    def diameter(self) -> NDArray[np.float64]:
        """Lengths of the cells' diagonals, shape (n_cells,)."""
        return np.sqrt((self.sides**2).sum(axis=1))

    @cached_property
    def volume(self) -> NDArray[np.float64]:
        """Shares of the box (n_cells,), at least 1e-300."""
        return np.maximum(np.exp2(np.log2(self.size * 2.0**-BITS).sum(axis=1)), 1e-300)


def _axes(sides: NDArray[np.float64], depth: int) -> NDArray[np.int64]:
    """The coordinate of the longest side at each depth, each at most `MOST_CUTS` times."""
    heap = [(-float(side), j) for j, side in enumerate(sides)]  # halved exactly
    heapq.heapify(heap)
    used = np.zeros(len(sides), np.int64)
    axes = np.empty(depth, np.int64)
    for level in range(depth):
        length, j = heapq.heappop(heap)
        axes[level] = j
        used[j] += 1
        if used[j] < MOST_CUTS:
            heapq.heappush(heap, (length / 2, j))
    return axes


@trusted
class RemainingCells:
    """The closed cells of a tree, and one more part: the clusters of some centers, whatever cell
    their records are in.

    `centers` (k, d); `aside` (k,): whose clusters are set aside.
    """

    def __init__(
        self, cells: OpenedCells, centers: NDArray[np.float64], aside: NDArray[np.bool_]
    ) -> None:
        self.universe = cells.universe
        self.n_parts = cells.n_parts + 1
        self._cells = cells
        self._centers = centers
        self._aside = aside

    def encode(self, records: NDArray[np.float64]) -> NDArray[np.int64]:
        """Part of each point, shape (n,): the last for those set aside."""
        label = nearest_centers(records, self._centers)[0]
        return np.where(self._aside[label], self.n_parts - 1, self._cells.encode(records))
