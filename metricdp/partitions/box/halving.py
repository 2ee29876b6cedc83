"""The public hierarchy of a box by repeated halving, and partitions cut from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import Bools, Floats
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.quadtree import QuadtreeCells, ShiftedQuadtree
from metricdp.partitions.finite.ward import PartitionTree, upwards
from metricdp.protocols import trusted


@trusted
@dataclass(frozen=True, eq=False, repr=False)
class Halves(QuadtreeCells):
    """Leaf cells of a tree of boxes, each split in the middle of its longest side."""

    def split(self, cells: ArrayLike) -> Halves:
        """A finer partition: these leaf cells split in the middle."""
        found: Any = super().split(cells)
        first = np.arange(len(self.level), len(found.level), 2)
        at = found.parent[first]
        axis = self.tree.axes[self.level[at]]
        half = self.size[at, axis] // np.uint64(2)
        found.cut[at] = self.low[at, axis] + half
        found.low[first + 1, axis] = self.low[at, axis] + half
        found.size[first, axis] = half
        found.size[first + 1, axis] = self.size[at, axis] - half
        return found


@dataclass(frozen=True, eq=False)
class CellParts(PartitionTree):
    """Leaf cells as the parts of a tree whose points are their middles. Sizes are shares of the
    box's volume, or of the expected weights.
    """

    cells: Any = None

    def spread(self, amounts: Floats) -> Floats:
        """One amount a part, on its only point."""
        return amounts.copy()


@dataclass(eq=False)
class Halving:
    """The hierarchy of a box, with public `expected` weights: points (n, d), and weights (n,) of
    sum 1.

    A cell's size is its share of the expected weights, mixed with a part `even` of its share of the
    volume. `trust`, 0 to 1: how far cuts follow the expected weights.
    """

    space: EuclideanSpace
    expected: tuple[Floats, Floats] | None = None
    even: float = 0.05
    trust: float = 1.0
    _known: CellParts | None = None

    def growth(self) -> float:
        """The dimension in which balls grow: the box's."""
        return float(self.space.dimension)

    def cut(
        self,
        n_parts: int,
        density: Floats | None = None,
        least: float = 0.0,
        shown: Bools | None = None,
    ) -> CellParts:
        """Partition into at most `n_parts` parts, by halving cells greedily, those of largest
        weight times diameter first; cells of less than `least` weight are not halved.

        Weight is volume, half replaced by expected weight as far as that is trusted; in the last
        `joined` parts it is given by `density` (n_parts,). O(m · d) for m cells, and O(depth) for
        each expected point.
        """
        cells = self._top()
        keys, known = self._weights_of(density)
        weight = np.ones(1)
        size = np.ones(1)
        while cells.n_parts < n_parts:
            at = cells.leaves
            at = at[(cells.level[at] < cells.tree.depth) & (weight[at] >= least)]
            if not len(at):
                break
            urgency = weight[at] * cells.diameter[at]
            order = np.argsort(-urgency, kind="stable")[: n_parts - cells.n_parts]
            # cells of at least half the largest urgency are halved together
            batch = np.sort(at[order[urgency[order] >= 0.5 * urgency[order[0]]]])
            cells = cells.split(batch)
            new = slice(len(weight), None)
            size = np.r_[size, self._sizes(cells, len(weight))]
            parent = cells.parent[new]
            below = weight[parent] * size[new] / np.maximum(size[parent], 1e-300)
            # cells that the density knows have its weight, the others a share of their parent's
            if len(keys):
                place = np.minimum(np.searchsorted(keys, cells.keys[new]), len(keys) - 1)
                below = np.where(keys[place] == cells.keys[new], known[place], below)
            weight = np.r_[weight, below]
        return self._parts(cells)

    def _sizes(self, cells: Halves, first: int) -> Floats:
        """Sizes of the cells from number `first` on: volumes, half replaced by expected weights as
        far as these are trusted.
        """
        volumes = cells.volume[first:]
        if self.expected is None:
            return volumes
        points, weights = self.expected
        at = cells.leaves[cells.encode(points)] - first
        new = at >= 0
        held = np.bincount(at[new], weights[new], len(volumes))
        return volumes + (held - volumes) * self.trust / 2

    def joined(self, cuts: Sequence[Any]) -> CellParts:
        """The coarsest partition that is finer than all these cuts."""
        split = np.concatenate([cut.cells.keys[cut.cells.child >= 0] for cut in cuts])
        cells = max((cut.cells for cut in cuts), key=attrgetter("n_parts"))
        while len(at := cells.leaves[np.isin(cells.keys[cells.leaves], split)]):
            cells = cells.split(at)
        self._known = self._parts(cells)
        return self._known

    def _top(self) -> Halves:
        return Halves(**vars(ShiftedQuadtree(self.space).root_cell()))

    def _parts(self, cells: Halves) -> CellParts:
        """Leaf cells as parts, and the split cells above them, children first."""
        leaves, (order, children) = cells.leaves, cells.upwards
        sizes = volumes = cells.volume[order]
        expected: dict[str, Floats] = {}
        if self.expected is not None:
            points, weights = self.expected
            held = np.bincount(cells.encode(points), weights, len(leaves))
            sizes = self.even * volumes
            sizes[: len(leaves)] += (1 - self.even) * held
            sizes = upwards(sizes[: len(leaves)], children)
            expected = {"weights": sizes[: len(leaves)], "numbers": volumes}
        universe = EuclideanMetric(cells.centers[leaves])
        labels = np.arange(len(leaves), dtype=np.int32)
        nodes = cells.keys[order].view(np.int64)
        return CellParts(universe, labels, children, sizes, nodes, **expected, cells=cells)

    def _weights_of(self, density: Floats | None) -> tuple[NDArray[np.uint64], Floats]:
        """Sorted keys of the last `joined` partition's cells, and the density's weight in each."""
        if density is None or self._known is None or self._known.nodes is None:
            return np.empty(0, np.uint64), np.empty(0)
        weight = upwards(density, self._known.children)
        keys = self._known.nodes.view(np.uint64)
        order = np.argsort(keys)
        return keys[order], weight[order]
