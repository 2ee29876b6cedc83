"""The shifted quadtree of a box (Cohen-Addad et al., KDD 2022, Section 2), by public coins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import Ints, count
from metricdp.kernels.quadtree_cells import BITS, MOST_CUTS, cells_of, path_keys, root_key, steps_of
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.tree_cells import Cells, axes_of
from metricdp.protocols import CellTree, trusted

_EACH = f"{MOST_CUTS} for each coordinate"


class ShiftedQuadtree(CellTree):
    """A binary tree of boxes: each cell is cut in two at a random place in the middle third of one
    side.

    Each level cuts across one coordinate, that of the longest nominal side (`axes`). A hash of the
    cell's path and the `seed` says where. `depth` is the public maximum, by default 30 for each
    coordinate. Points are rounded down to steps of 2**-48 of each side; all else is integer
    arithmetic, equal on every machine.
    """

    def __init__(self, space: EuclideanSpace, depth: int | None = None, seed: int = 0) -> None:
        most = MOST_CUTS * space.dimension
        number = count(most if depth is None else depth, "depth", 1, most, _EACH)
        self.space = space
        self.depth = number
        self.seed = seed
        self.axes = axes_of(space.upper - space.lower, number)
        limbs = [seed >> shift & (2**64 - 1) for shift in range(0, max(seed.bit_length(), 1), 64)]
        self.root = np.uint64(root_key(np.array(limbs, np.uint64)))

    def __repr__(self) -> str:
        return f"ShiftedQuadtree({self.space!r}, depth={self.depth}, seed={self.seed})"

    def grid(self, points: ArrayLike) -> NDArray[np.uint64]:
        """Points, clipped to the box, in steps from its lower corner, shape (n, d)."""
        given = self.space.clip(points)
        return steps_of(given, self.space.lower, self.space.upper)

    def cells(self, points: ArrayLike, depth: int | None = None) -> NDArray[np.uint64]:
        """Keys of the cells of every point at depths 0 to `depth`, (n, depth + 1), 64-bit hashes of
        path and seed. Among m cells of a level two share a key with chance m² / 2**65, which is
        harmless for privacy. O(n · (d + depth)).
        """
        return path_keys(self.grid(points), self.axes[:depth], self.root)

    def root_cell(self) -> QuadtreeCells:
        """The root alone, as a leaf."""
        zero = np.zeros((1, self.space.dimension), np.uint64)
        whole = np.uint64(2**BITS)
        none = np.array([-1])
        return QuadtreeCells(
            self,
            none,
            none,
            np.zeros(1, np.uint64),
            np.array([self.root]),
            zero,
            zero + whole,
            np.zeros(1, np.int64),
        )


@trusted
@dataclass(frozen=True, eq=False, repr=False)
class QuadtreeCells(Cells):
    """The leaf cells of a partly split quadtree: a partition for `HistogramQuery`."""

    tree: ShiftedQuadtree

    def __repr__(self) -> str:
        return f"QuadtreeCells({self.tree!r}, {self.n_parts:,} leaf cells)"

    def encode(self, records: ArrayLike) -> Ints:
        """Part of each point, shape (n,): by its own coordinates alone."""
        axis = self.tree.axes[np.minimum(self.level, self.tree.depth - 1)]
        return self.part[cells_of(self.tree.grid(records), self.child, self.cut, axis)]
