"""Shrinkage of the estimated counts of a box's cells: cells below the noise threshold weigh less.

Otherwise light demand that only noise has put far away would attract a center of its own.
"""

import numpy as np

from metricdp.arguments import Bools, Floats
from metricdp.kernels.tree_posterior import passed_down
from metricdp.partitions.finite.ward import PartitionTree, upwards
from metricdp.solvers.estimate.tree_posterior import Estimate, least_squares

SLOPE = 3.0
ENOUGH = 65.0
LEAST = 5.0
MOST = 12.0
LIGHT = 3.0
RECORDS_PER_LEVEL = 50.0
"""Noise alone puts a cell above the threshold with a chance of about e^-L, L = 3 ln(x / 65) for x
records per unit of noise, between 5 and 12. With more records lighter clusters can be distinguished
from noise, and a center that noise attracts far away is the greater part of the cost. But L is at
most x / 50, and x / 3k where k centers are asked for: otherwise spread demand, or clusters of a few
units of noise, would stay below the threshold, and the centers would follow the largest noise
(benchmarks/euclidean.md).
"""
CLEAR = 3.0
BAND = 8.0
"""Shrinkage of the counts of larger cells, and of their sum over cells of sizes within so many
halvings, is that of James and Stein with `CLEAR` standard deviations of noise: sparse tails are
found at their own scale. One sum over all sizes would count tails near clusters, and spread them
over wide cells far away. Tried on pick-ups in their bounding box, incomes, towns, unbalance and a3
(benchmarks/euclidean.md).
"""


def significance(records: float, unit: float, k: int = 0) -> float:
    """L: minus the logarithm of the chance that noise alone passes the threshold, for so many
    records, a `unit` of noise and k centers (0: not known).
    """
    x = max(records / unit, 1.0)
    enough = np.clip(SLOPE * np.log(x / ENOUGH), LEAST, MOST)
    return float(min(enough, x / max(LIGHT * k, RECORDS_PER_LEVEL)))


def above_noise(
    points: Floats, counts: Floats, deviation: Floats, unit: float, level: float
) -> Bools:
    """Which of m cells lie in a significant neighborhood, shape (m,): among the 3^d cells nearest
    to one whose count, alone or summed with nearest neighbors, is above the noise threshold.

    `points` (m, d): cells' middles; `counts`, `deviation` (m,): noisy counts, and the standard
    deviation of each; `level`: L of `significance`. The threshold of a sum of Laplace noise of
    standard deviation s is √(2 L s² + L (L - 4) unit²): L units for one cell alone, about s √(2 L)
    for many. A cell that only an early round counted has a larger unit. O(m · (d + 3^d) · log m).
    """
    from scipy.spatial import cKDTree

    m, d = points.shape
    neighbors = cKDTree(points).query(points, k=np.arange(1, min(3**d, m) + 1))[1]
    sums, variances = (np.cumsum(each[neighbors], axis=1) for each in (counts, deviation**2))
    # the unit of a cell counted once is s / √2; a sum takes the largest of its cells
    units = np.maximum(np.maximum.accumulate(deviation[neighbors] ** 2, axis=1) / 2, unit**2)
    threshold = 2 * level * variances + level * (level - 4) * units
    significant = sums > np.sqrt(np.maximum(threshold, 0.0))
    found = np.zeros(m, bool)
    found[neighbors[significant.any(axis=1)]] = True
    return found


def shrinkage_factors(tree: PartitionTree, estimate: Estimate, unit: float, k: int = 0) -> Floats:
    """Factors from 0 to 1 for the leaf cells' estimates, shape (m,): 1 for cells `above_noise`.

    Other leaf cells share the factor of the largest cell around them that has no leaf above the
    noise: its noisy count, or the sum over all such cells of about its size, after shrinkage by
    noise.
    """
    m = tree.n_parts
    counts, deviation = least_squares(tree, estimate.rounds)
    points = np.asarray(tree.universe.points)  # type: ignore[attr-defined]
    level = significance(float(estimate.mean.sum()), unit, k)
    significant = above_noise(points, counts[:m], deviation[:m], unit, level)
    # the maximal nodes of the tree without a significant leaf
    has_significant = upwards(significant, tree.children) > 0
    rest = upwards(np.where(significant, 0.0, estimate.mean), tree.children)
    above_zero = np.clip(counts, 0.0, rest)
    nodes = np.arange(float(len(counts)))
    maximal = ~has_significant & (passed_down(nodes, has_significant, tree.children) == nodes)
    # their sums by band of sizes
    band = (np.log2(tree.sizes[-1] / tree.sizes) / BAND + 1e-9).astype(np.int64)
    columns = (counts, deviation**2, above_zero)
    total, variance, sums = np.array(
        [np.bincount(band, np.where(maximal, column, 0.0)) for column in columns]
    )
    by_band = _james_stein(total, np.sqrt(variance)) * total
    by_band /= np.maximum(np.maximum(sums, total), 1e-9)
    factor = np.maximum(_james_stein(counts, deviation), by_band[band])
    factor *= np.divide(above_zero, rest, out=np.zeros_like(rest), where=rest > 0)
    passed: Floats = passed_down(
        np.where(has_significant, 1.0, factor), has_significant, tree.children
    )
    return passed[:m]


def _james_stein(counts: Floats, deviation: Floats) -> Floats:
    """Shrinkage factors of James and Stein (positive part) for noisy counts."""
    ratio = CLEAR * deviation / np.maximum(counts, 1e-9)
    return np.maximum(1 - ratio**2, 0.0)
