"""The release of a quadtree's noisy counts: weighted points, and centers from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.methods.box.anywhere import searched
from metricdp.methods.box.cell_counts import CellCounts
from metricdp.methods.demand_release import Release, on_weights
from metricdp.methods.question import PointsQuestion, Question
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.quadtree import QuadtreeCells
from metricdp.partitions.box.refining import refined
from metricdp.releases import Receipt
from metricdp.solvers.lloyd import converged, distinct

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
