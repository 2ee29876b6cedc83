"""Centers that a shifted quadtree cuts badly, too close to a cut of a large cell, and the cells of
the records that are not theirs.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from metricdp.arguments import Bools, Floats, Ints
from metricdp.kernels.points import nearest_centers
from metricdp.kernels.quadtree_cells import BITS, _child_key, _cut
from metricdp.partitions.box.quadtree import QuadtreeCells, ShiftedQuadtree
from metricdp.protocols import trusted


def badly_cut(tree: ShiftedQuadtree, centers: Floats, depth: int, chance: float) -> Bools:
    """Which centers are badly cut: a function of public coins, and of centers that are public or
    released.

    Two points are cut at level i if the smallest cell of both has a diagonal in (√d·2^(i-1),
    √d·2^i]; a ball at the highest level at which a point is cut from its center. A center is badly
    cut if for some i its ball of radius 2^i is cut above level i + log2(d · levels / chance). The
    paper has log2(n), which is private, for the number of levels (Cohen-Addad et al., KDD 2022,
    Appendix A; J. ACM 2021). One pass down the tree decides: O(k · depth · d).
    """
    d = centers.shape[1]
    unit = (tree.space.upper - tree.space.lower) * 2.0**-BITS
    margin, diagonal = cut_margins(tree.grid(centers), tree.axes[:depth], tree.root, unit)
    levels = max(depth / d, 1.0)
    with np.errstate(divide="ignore"):
        reached = np.ceil(np.log2(margin))
    found: Bools = (
        np.ceil(np.log2(diagonal / np.sqrt(d))) > reached + np.log2(d * levels / chance)
    ).any(axis=1)
    return found


@njit(cache=True, nogil=True)
def cut_margins(grid: NDArray, axes: NDArray, root: int, unit: NDArray) -> tuple[NDArray, NDArray]:
    """Distance of points from each depth's cut, and the cell's diagonal: both (n, depth)."""
    n, d = grid.shape
    depth = len(axes)
    margin = np.empty((n, depth), np.float64)
    diagonal = np.empty((n, depth), np.float64)
    low = np.empty(d, np.uint64)
    size = np.empty(d, np.uint64)
    for i in range(n):
        key = uint64(root)
        low[:], size[:] = uint64(0), uint64(1) << uint64(BITS)
        for level in range(depth):
            square = 0.0
            for x in range(d):
                square += (float(size[x]) * unit[x]) ** 2
            diagonal[i, level] = np.sqrt(square)
            j = axes[level]
            cut = _cut(key, low[j], size[j])
            upper = grid[i, j] >= cut
            away = grid[i, j] - cut if upper else cut - grid[i, j]
            margin[i, level] = max(float(away), 1.0) * unit[j]
            if upper:
                size[j] = low[j] + size[j] - cut
                low[j] = cut
                key = _child_key(key, 1)
            else:
                size[j] = cut - low[j]
                key = _child_key(key, 0)
    return margin, diagonal


@trusted
class RemainingCells:
    """The leaf cells of a tree, and one more part: the clusters of some centers, whatever cell
    their records are in.

    `centers` (k, d); `aside` (k,): whose clusters are set aside.
    """

    def __init__(self, cells: QuadtreeCells, centers: Floats, aside: Bools) -> None:
        self.universe = cells.universe
        self.n_parts = cells.n_parts + 1
        self._cells = cells
        self._centers = centers
        self._aside = aside

    def encode(self, records: Floats) -> Ints:
        """Part of each point, shape (n,): the last for those set aside."""
        label = nearest_centers(records, self._centers)[0]
        return np.where(self._aside[label], self.n_parts - 1, self._cells.encode(records))
