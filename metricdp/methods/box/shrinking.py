"""What is left of the estimates of a box's cells where they may be noise: light demand that is not
there would hold a center if it is far away.
"""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Bools, Floats
from metricdp.kernels.tree_posterior import passed_down
from metricdp.partitions.finite.ward import PartitionTree, upwards
from metricdp.solvers.estimate.tree_posterior import Estimate, least_squares

SURER = 3.0
ENOUGH = 65.0
LEAST = 5.0
MOST = 12.0
LIGHT = 3.0
FEW = 50.0
"""Cells stand out where noise does so with a chance of about e^-L, L = 3 ln(x / 65) for x records
per unit of noise, 5 to 12. With more records lighter clusters can be distinguished from noise, and
a center that noise holds far away is the greater part of the cost. But L is at most x / 50, and x /
3k where k centers are asked for: else spread demand, or clusters of few units of noise, would not
stand out, and centers would follow the loudest noise (benchmarks/euclidean.md).
"""
CLEAR = 3.0
BAND = 8.0
"""Of larger cells' counts, and of their sum over cells within so many halvings, as much is taken
off as for `CLEAR` standard deviations of noise: sparse tails are seen at their own scale. A sum
over all sizes tells of tails near clusters what is then spread over wide cells far away. Tried on
pick-ups in their bounding box, incomes, towns, unbalance and a3 (benchmarks/euclidean.md).
"""


def surety(records: float, unit: float, k: int = 0) -> float:
    """L: how sure it must be, for so many records, a `unit` of noise and k centers (0: not known),
    that cells stand out.
    """
    x = max(records / unit, 1.0)
    enough = np.clip(SURER * np.log(x / ENOUGH), LEAST, MOST)
    return float(min(enough, x / max(LIGHT * k, FEW)))


def above_noise(
    points: Floats, counts: Floats, deviation: Floats, unit: float, sure: float
) -> Bools:
    """Which of m cells are among the 3^d nearest of one that stands out, alone or with some of
    these.

    `points` (m, d): their middles; `counts`, `deviation` (m,): noisy counts; `sure`: as `surety`. A
    sum of Laplace noise of standard deviation s stands out above √(2 L s² + L (L - 4) unit²): L
    units for one cell alone, about s √(2 L) for many; a cell that only an early round counted has
    a larger unit. O(m · (d + 3^d) · log m).
    """
    from scipy.spatial import cKDTree

    m, d = points.shape
    near = cKDTree(points).query(points, k=np.arange(1, min(3**d, m) + 1))[1]
    sums, squares = (np.cumsum(each[near], axis=1) for each in (counts, deviation**2))
    # s / √2 is the unit of a cell counted once: of a sum the largest counts
    units = np.maximum(np.maximum.accumulate(deviation[near] ** 2, axis=1) / 2, unit**2)
    noise = 2 * sure * squares + sure * (sure - 4) * units
    out = sums > np.sqrt(np.maximum(noise, 0.0))
    found = np.zeros(m, bool)
    found[near[out.any(axis=1)]] = True
    return found


def shrunk(tree: PartitionTree, estimate: Estimate, unit: float, k: int = 0) -> Floats:
    """What part (m,) is left of each closed cell's estimate: all of those that stand out.

    The largest cells of the tree in which no closed one stands out are left what their own noisy
    count tells, or what all of about their size together tell, with noise taken off.
    """
    m = tree.n_parts
    counts, deviation = least_squares(tree, estimate.looks)
    points = np.asarray(tree.universe.points)  # type: ignore[attr-defined]
    sure = surety(float(estimate.mean.sum()), unit, k)
    out = above_noise(points, counts[:m], deviation[:m], unit, sure)
    held = upwards(out, tree.children) > 0
    rest = upwards(np.where(out, 0.0, estimate.mean), tree.children)
    above_zero = np.clip(counts, 0.0, rest)
    nodes = np.arange(float(len(counts)))
    largest = ~held & (passed_down(nodes, held, tree.children) == nodes)
    band = (np.log2(tree.sizes[-1] / tree.sizes) / BAND + 1e-9).astype(np.int64)
    each = (counts, deviation**2, above_zero)
    total, square, sums = np.array([np.bincount(band, np.where(largest, x, 0.0)) for x in each])
    together = _clear(total, np.sqrt(square)) * total / np.maximum(np.maximum(sums, total), 1e-9)
    clear = np.maximum(_clear(counts, deviation), together[band])
    own = clear * np.divide(above_zero, rest, out=np.zeros_like(rest), where=rest > 0)
    kept: Floats = passed_down(np.where(held, 1.0, own), held, tree.children)
    return kept[:m]


def _clear(counts: Floats, deviation: Floats) -> Floats:
    """What part is left of counts with noise taken off as by James and Stein."""
    ratio = CLEAR * deviation / np.maximum(counts, 1e-9)
    return np.maximum(1 - ratio**2, 0.0)
