"""What is left of the estimates of a box's cells where they may be noise: light demand that is not
there would hold a center if it is far away.
"""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Bools, Floats
from metricdp.partitions.finite.ward import PartitionTree, upwards
from metricdp.solvers.estimate.tree_posterior import Estimate, least_squares

STANDS_OUT = 3.0
LONE = 3.0
"""Neighboring cells stand out if they count more than so many standard deviations; and more than
ln m + `LONE` units of noise, which of m cells one alone exceeds by chance with e^-`LONE` / 2."""


def standing(points: Floats, counts: Floats, deviation: Floats, unit: float) -> Bools:
    """Which of m cells stand out, alone or with some of the 3^d nearest to them.

    `points` (m, d): their middles; `counts`, `deviation` (m,): noisy counts. O(m · (d + 3^d) · log
    m).
    """
    from scipy.spatial import cKDTree

    m, d = points.shape
    near = cKDTree(points).query(points, k=np.arange(1, min(3**d, m) + 1))[1]
    sums, squares = (np.cumsum(each[near], axis=1) for each in (counts, deviation**2))
    out = sums > np.maximum(STANDS_OUT * np.sqrt(squares), (np.log(m) + LONE) * unit)
    first = np.where(out.any(axis=1), out.argmax(axis=1), -1)
    found = np.zeros(m, bool)
    for j in range(near.shape[1]):
        found[near[first >= j, j]] = True
    return found


def shrunk(tree: PartitionTree, estimate: Estimate, unit: float) -> Floats:
    """What part (m,) is left of each closed cell's estimate: all of those that stand out.

    The largest cells of the tree in which no closed one stands out are left what their own noisy
    count tells, with noise taken off as by James and Stein.
    """
    m = tree.n_parts
    counts, deviation = least_squares(tree, estimate.looks)
    points = np.asarray(tree.universe.points)  # type: ignore[attr-defined]
    out = standing(points, counts[:m], deviation[:m], unit)
    held = upwards(out, tree.children) > 0
    rest = upwards(np.where(out, 0.0, estimate.mean), tree.children)
    clear = np.maximum(1 - (STANDS_OUT * deviation / np.maximum(counts, 1e-9)) ** 2, 0.0)
    told = np.clip(counts, 0.0, rest)
    own = clear * np.divide(told, rest, out=np.zeros_like(rest), where=rest > 0)
    kept = np.where(held, 1.0, own)
    for i, pair in reversed(list(enumerate(tree.children, start=m))):
        if not held[i]:
            kept[pair] = kept[i]
    return kept[:m]
