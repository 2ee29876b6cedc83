"""Centers that a shifted quadtree cuts badly: too close to a cut of a large cell."""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Bools, Floats
from metricdp.kernels.cut_margins import cut_margins
from metricdp.kernels.quadtree_cells import BITS
from metricdp.partitions.box.quadtree import ShiftedQuadtree


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
