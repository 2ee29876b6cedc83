"""Geometry of the cells of a shifted quadtree, and how they are split. Public: records are encoded
in `metricdp.partitions.box.quadtree`.
"""

import heapq
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import Floats, Ints
from metricdp.kernels.quadtree_cells import BITS, MOST_CUTS, split_cells
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import TreeCells


class Tree(Protocol):
    """A tree of cells: its box, its public depth, and the coordinate that each level divides."""

    space: EuclideanSpace
    depth: int
    axes: Ints


class SplitNodes:
    """Nodes of a binary tree whose leaves partition its box.

    `child`: a split node's first child, the other one follows; -1 for leaves. `level`: 0 at the
    root.
    """

    tree: Any
    child: Ints
    level: Ints

    @property
    def universe(self) -> EuclideanSpace:
        """The box."""
        return self.tree.space

    @cached_property
    def leaves(self) -> Ints:
        """The leaves, shape (n_parts,): part i is node ``leaves[i]``."""
        return np.flatnonzero(self.child < 0)

    @property
    def n_parts(self) -> int:
        """Number of leaf cells."""
        return len(self.leaves)

    @property
    def part(self) -> Ints:
        """Part of each leaf, shape (n_nodes,); meaningless for split nodes."""
        return np.cumsum(self.child < 0) - 1


@dataclass(frozen=True, eq=False, repr=False)
class Cells(SplitNodes, TreeCells):
    """Cells of a partly split quadtree: split ones and leaves, parents first.

    `cut`, `low`, `size` are in grid steps; `keys` are those of `ShiftedQuadtree.cells`.
    """

    tree: Tree
    parent: Ints
    child: Ints
    cut: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    low: NDArray[np.uint64]
    size: NDArray[np.uint64]
    level: Ints

    def split(self, cells: ArrayLike) -> Self:
        """A finer partition: these leaves split, but for those of the last level."""
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

    @cached_property
    def upwards(self) -> tuple[Ints, Ints]:
        """All cells, leaves first, then split cells, children before parents; and the positions in
        this order of each split cell's halves, shape (n_parts - 1, 2).
        """
        inner = np.flatnonzero(self.child >= 0)[::-1]
        order = np.r_[self.leaves, inner]
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return order, place[np.stack([self.child[inner], self.child[inner] + 1], axis=1)]

    @cached_property
    def sides(self) -> Floats:
        """Lengths of the cells' sides, shape (n_cells, d)."""
        return self.size * 2.0**-BITS * (self.tree.space.upper - self.tree.space.lower)

    @cached_property
    def centers(self) -> Floats:
        """Middles of the cells, shape (n_cells, d)."""
        middle = (self.low + self.size / 2.0) * 2.0**-BITS
        return self.tree.space.clip(
            self.tree.space.lower + middle * (self.tree.space.upper - self.tree.space.lower)
        )

    @cached_property
    def diameter(self) -> Floats:
        """Lengths of the cells' diagonals, shape (n_cells,)."""
        return np.sqrt((self.sides**2).sum(axis=1))

    @cached_property
    def volume(self) -> Floats:
        """Shares of the box (n_cells,), at least 1e-300."""
        return np.maximum(np.exp2(np.log2(self.size * 2.0**-BITS).sum(axis=1)), 1e-300)


def axes_of(sides: Floats, depth: int) -> Ints:
    """The coordinate of the longest side at each level, each at most `MOST_CUTS` times."""
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
