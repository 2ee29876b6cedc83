"""The shifted quadtree of a public box (Cohen-Addad et al., KDD 2022, Section 2): a function of the
box and of public coins alone.
"""

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
    """A binary tree of boxes: the root is the whole box; each cell is cut in two at a random place
    in the middle third of one side.

    A depth cuts across one coordinate: of a cube, each coordinate in turn; of another box, that
    whose side would be the longest were all cuts in the middle, of several the first. Where a cell
    is cut is a hash of its path from the root and of the seed, so whoever knows the box and the
    seed knows all cells, without any data.

    `depth`: levels below the root: the public maximum. By default all there are, 30 for each
    coordinate; `seed`: public coins.

    `space`, `depth`, `seed`: as given; `axes` (depth,): the coordinate that each depth cuts across.

    Points are rounded down to steps of 2**-48 of each side, by a subtraction, a division and a
    multiplication by a power of two, which IEEE 754 defines to the bit; all else is integer
    arithmetic. So every machine computes the same cells.
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
        """Points of the box in steps from its lower corner, shape (n, d); what lies outside is
        clipped to it.
        """
        given = self.space.clip(points)
        steps = np.floor(
            (given - self.space.lower) / (self.space.upper - self.space.lower) * 2.0**BITS
        )
        return np.minimum(steps, 2.0**BITS - 1).astype(np.uint64)

    def cells(self, points: ArrayLike, depth: int | None = None) -> NDArray[np.uint64]:
        """Keys of the cells of every point at depths 0 to `depth`, by default all: shape (n, depth
        + 1).

        A key is a 64-bit hash of the cell's path and of the seed. The halves of one cell always
        have different keys; among m other cells of a level two share a key with a chance of some m²
        / 2**65, 10**-9 for 200,000 of them. Then their points are counted as one cell's: harmless
        for privacy, as a point's key depends on that point alone. `OpenedCells` compares
        coordinates, and never confuses cells.

        O(n · (d + depth)) time, 8 · (depth + 1) bytes a point; a row depends on its own point
        alone, so points may come in any batches.
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
    """The top of a shifted quadtree: some cells are opened, the closed ones divide the box. A
    partition for `HistogramQuery`.

    `parent` (n_cells,): -1 for the root, cell 0; parents come before children; `child` (n_cells,):
    the first half of an opened cell, the other one follows it; -1 for a closed cell; `cut`
    (n_cells,): where an opened cell is cut, in steps; `keys` (n_cells,): as `ShiftedQuadtree.cells`
    has them; `low`, `size` (n_cells, d): corners and sides, in steps; `level` (n_cells,): depth of
    each cell.
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
        """These cells opened, and those of their halves that are among the numbers, and so on, as
        `metricdp.privacy.OpeningQuery` did.
        """
        cells = self
        left = np.asarray(numbers, np.int64)
        while len(left):
            there = left < len(cells.level)
            if not there.any():
                raise InputError("a cell cannot be opened before the one it is half of")
            cells = cells.open(left[there])
            left = left[~there]
        return cells

    def refined(
        self,
        amounts: NDArray[np.float64],
        most: int,
        least: float = -np.inf,
        deepest: int | None = None,
    ) -> tuple[OpenedCells, NDArray[np.float64]]:
        """Open, again and again, the closed cells of largest amount times diameter, what they have
        going to their halves by volume.

        Cells of more than half of the largest urgency are opened together. Without demand the
        largest ones come first. O(m · d) for m new cells, times the logarithm of the range of
        urgencies.
        """
        cells = self
        known = np.asarray(amounts, float)
        bottom = self.tree.depth if deepest is None else min(deepest, self.tree.depth)
        while cells.n_parts < most:
            open_to = cells.leaves[
                (cells.level[cells.leaves] < bottom) & (known[cells.leaves] > least)
            ]
            if len(open_to) == 0:
                break
            weight = np.maximum(known[open_to], 0.0) + 1e-9 * max(float(known.max()), 1.0)
            urgency = weight * cells.diameter[open_to]
            order = np.argsort(-urgency, kind="stable")[: most - cells.n_parts]
            batch = np.sort(open_to[order[urgency[order] > 0.5 * urgency[order[0]]]])
            cells = cells.open(batch)
            first = len(known) + 2 * np.arange(len(batch))
            axis = cells.tree.axes[cells.level[batch]]
            share = cells.size[first, axis] / cells.size[batch, axis]
            known = np.r_[
                known, (known[batch, None] * np.stack([share, 1 - share], axis=1)).ravel()
            ]
        return cells, known

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
        """Shares of the box, shape (n_cells,): at least 1e-300, far below which a cell has no use
        for it.
        """
        return np.maximum(np.exp2(np.log2(self.size * 2.0**-BITS).sum(axis=1)), 1e-300)


def _axes(sides: NDArray[np.float64], depth: int) -> NDArray[np.int64]:
    """The coordinate of the longest nominal side at each depth, of equal ones the first; each at
    most `MOST_CUTS` times.
    """
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
