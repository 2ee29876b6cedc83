"""Centers that a shifted quadtree cuts badly: so close to a cut of a large cell that the tree's
squared distances mislead around them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.quadtree_cells import BITS, cut_margins
from metricdp.partitions.box.quadtree import ShiftedQuadtree


def badly_cut(
    tree: ShiftedQuadtree, centers: NDArray[np.float64], depth: int, chance: float
) -> NDArray[np.bool_]:
    """Which centers are badly cut: a function of public coins, and of centers that are public or
    released.

    Two points are cut at level i if the smallest cell that holds both has a diagonal in
    (√d·2^(i-1), √d·2^i]; a ball is cut at the highest level at which one of its points is cut from
    its center. A center f is badly cut if for some i the ball of radius 2^i around it is cut above
    level i + log2(d · levels / chance), where the paper has log2(n), which is private, for the
    number of levels of a coordinate: its Lemma 7 adds up a chance of O(d·2^i / 2^j) for all i, of
    which there are as many as levels.

    References
    ----------
    Cohen-Addad et al., KDD 2022, Appendix A. Cohen-Addad, Feldmann & Saulpic, Near-linear time
    approximation schemes for clustering in doubling metrics (J. ACM 2021).

    A ball around f that reaches over the cut of a cell on f's way down, at distance t from f, is
    cut at that cell's level, and the least i for which 2^i does so is ⌈log2 t⌉. So one pass down
    the tree decides: O(k · depth · d).
    """
    d = centers.shape[1]
    unit = (tree.space.upper - tree.space.lower) * 2.0**-BITS
    margin, diagonal = cut_margins(tree.grid(centers), tree.axes[:depth], tree.root, unit)
    levels = max(depth / d, 1.0)
    with np.errstate(divide="ignore"):
        reached = np.ceil(np.log2(margin))
    found: NDArray[np.bool_] = (
        np.ceil(np.log2(diagonal / np.sqrt(d))) > reached + np.log2(d * levels / chance)
    ).any(axis=1)
    return found
