"""Noisy counts of the cells of a partly split quadtree, joint estimates from them, and the release:
weighted points, and centers from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.kernels.hst_passes import consistent_counts, counts_above_noise
from metricdp.methods.box.anywhere import searched
from metricdp.methods.demand_release import Release, on_weights
from metricdp.methods.finite.hst import noise_variance
from metricdp.methods.question import PointsQuestion, Question
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.quadtree import QuadtreeCells
from metricdp.partitions.box.refining import refined
from metricdp.releases import Receipt
from metricdp.releases import Release as Noisy
from metricdp.solvers.lloyd import converged, distinct

SUPPORT = 3.0
"""Standard deviations of noise above which a cell's estimate is distinguished from 0."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Released counts of cells (n_cells,) and their noise variances, infinite if not counted."""

    measured: Floats
    variance: Floats

    def with_values(self, cells: QuadtreeCells, at: Ints, release: Noisy) -> CellCounts:
        """These counts and a histogram of the cells `at`, averaged by precision where both
        count.
        """
        more = len(cells.parent) - len(self.measured)
        value = np.r_[self.measured, np.zeros(more)]
        variance = np.r_[self.variance, np.full(more, np.inf)]
        noise = (
            noise_variance(release.receipt.mechanisms[0])
            if release.receipt.mechanisms[0].scale
            else 1e-6
        )
        share = 1.0 / (1.0 + noise / variance[at])
        value[at] += share * (release.values[: len(at)] - value[at])
        variance[at] = noise * share
        return CellCounts(value, variance)

    def consistent(self, cells: QuadtreeCells) -> tuple[Floats, Floats]:
        """Least-squares estimates that add up (Hay et al., VLDB 2010), and bounds of variances."""
        found: tuple[Floats, Floats] = consistent_counts(
            cells.parent, self.measured, self.variance, cells.volume
        )
        return found

    def supported(self, cells: QuadtreeCells) -> Floats:
        """The same, without noise: below the deepest cells above the threshold, amounts are spread
        by volume; a cell below it beside one above it is empty.
        """
        estimate, variance = self.consistent(cells)
        amounts, significant = counts_above_noise(
            cells.parent, estimate, SUPPORT * np.sqrt(variance), cells.volume
        )
        parent = cells.parent
        empty = np.zeros(len(estimate), bool)
        has_significant = np.zeros(len(estimate), bool)
        has_significant[parent[1:][significant[1:]]] = True
        for level in range(1, int(cells.level.max()) + 1):
            at = np.flatnonzero(cells.level == level)
            empty[at] = empty[parent[at]] | (has_significant[parent[at]] & ~significant[at])
        return np.where(empty, 0.0, amounts)

    def estimated(self, cells: QuadtreeCells, estimate: str) -> Floats:
        """Estimates of all cells, by ``"own"`` noisy counts or as `supported`."""
        if estimate == "own":
            return np.where(np.isinf(self.variance), self.consistent(cells)[0], self.measured)
        return self.supported(cells)


SOLVER_POINTS = 10_000
"""Up to so many points centers are first searched among them; beyond, by seedings and Lloyd alone.
"""
POINTS = 4096
"""Weighted points of a release, at least: large cells are represented by several."""


def release_of(
    cells: QuadtreeCells, counts: CellCounts, receipt: Receipt, estimate: str
) -> Release:
    """The release of a shifted quadtree's counts: weighted middles of the leaf cells, the large
    ones split further by volume.

    Its facts are the ``cells``, their ``counts``, and ``amounts``, the estimated demand in each.
    """
    whole = counts.estimated(cells, estimate)
    fine, amounts = refined(cells, whole, POINTS)
    weights = amounts[fine.leaves]
    diameter = fine.diameter[fine.leaves]
    positive = np.maximum(weights, 0.0) + 1e-300
    return Release(
        EuclideanMetric(fine.centers[fine.leaves]),
        weights,
        receipt,
        space=cells.universe,
        method="quadtree",
        search=solver_centers,
        asks=PointsQuestion,
        cells=cells,
        counts=counts,
        amounts=whole,
        # about the mean distance of a cell's points from its middle
        smooth=float((positive * diameter).sum() / positive.sum()) / 4,
    )


def solver_centers(release: Any, question: Question) -> Floats:
    """Centers (k, d): first of low cost for the non-negative weights, then moved by Lloyd's method
    with all weights, negative ones included.
    """
    points = release.universe.points
    power = question.power
    smooth = release.smooth
    if len(points) > SOLVER_POINTS:
        weights = np.maximum(release.weights, 0.0)
        found = searched(
            points, weights, question.k, power=power, seed=question.seed, smooth=smooth
        )
    else:
        found = points[on_weights(release, question)]
    better = converged(points, release.weights, found, power=power, smooth=smooth)
    return distinct(better, points)
