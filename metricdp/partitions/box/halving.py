"""A public hierarchy of a box by halving, as deep as asked, and partitions cut from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arrays import Bools, Floats
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.quadtree import QuadtreeCells, ShiftedQuadtree
from metricdp.partitions.finite.ward import PartitionTree, upwards
from metricdp.protocols import trusted


@trusted
@dataclass(frozen=True, eq=False, repr=False)
class Halves(QuadtreeCells):
    """The top of a tree of boxes, each cut in the middle of its longest side."""

    def split(self, cells: ArrayLike) -> Halves:
        """These leaf cells opened too, in the middle."""
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
    """Closed cells as parts, of points that are their middles: sizes are shares of the box, or of
    what is expected.
    """

    cells: Any = None

    def spread(self, amounts: Floats) -> Floats:
        """A part is one point."""
        return amounts.copy()


@dataclass(eq=False)
class Halving:
    """The hierarchy of a box, with public weights of points that are `expected`, of sum 1.

    A cell's size is its share of the weights, by a part `even` of its volume.
    """

    space: EuclideanSpace
    expected: tuple[Floats, Floats] | None = None
    even: float = 0.05
    trust: float = 1.0
    _known: CellParts | None = None

    def growth(self) -> float:
        """Balls grow with the dimension."""
        return float(self.space.dimension)

    def cut(
        self,
        n_parts: int,
        density: Floats | None = None,
        least: float = 0.0,
        shown: Bools | None = None,
    ) -> CellParts:
        """Partition into `n_parts` parts at most: again and again the cells of largest weight times
        diameter are halved, those of less than `least` weight are not.

        Weight is half expected, as far as that is trusted, else even, times the `density` of the
        last `joined` parts, if one is given. O(m · d) for m cells, and O(depth) for each point that
        is expected.
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
            batch = np.sort(at[order[urgency[order] >= 0.5 * urgency[order[0]]]])
            cells = cells.split(batch)
            new = slice(len(weight), None)
            size = np.r_[size, self._sizes(cells, len(weight))]
            parent = cells.parent[new]
            below = weight[parent] * size[new] / np.maximum(size[parent], 1e-300)
            if len(keys):
                place = np.minimum(np.searchsorted(keys, cells.keys[new]), len(keys) - 1)
                below = np.where(keys[place] == cells.keys[new], known[place], below)
            weight = np.r_[weight, below]
        return self._parts(cells)

    def _sizes(self, cells: Halves, first: int) -> Floats:
        """Of the cells from the `first` on: half as expected, as far as that is trusted."""
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
        """Parts in the order of the leaf cells, then the halved ones, children first."""
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
        """Keys of all known cells, sorted, and the density's weight in each."""
        if density is None or self._known is None or self._known.nodes is None:
            return np.empty(0, np.uint64), np.empty(0)
        weight = upwards(density, self._known.children)
        keys = self._known.nodes.view(np.uint64)
        order = np.argsort(keys)
        return keys[order], weight[order]
