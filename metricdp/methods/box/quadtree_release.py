"""Weights from the cells of an opened quadtree, and centers from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arrays import Floats
from metricdp.methods.box.anywhere import searched
from metricdp.methods.box.cell_counts import CellCounts
from metricdp.methods.demand_release import Release, on_weights
from metricdp.methods.question import PointsQuestion, Question
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.quadtree import OpenedCells
from metricdp.partitions.box.refining import refined
from metricdp.releases import Receipt
from metricdp.solvers.lloyd import distinct, settled

SOLVER_POINTS = 10_000
"""Beyond, the solver starts from seedings only."""
POINTS = 4096
"""Points on which a release is solved at least: large cells stand for several."""


def release_of(cells: OpenedCells, counts: CellCounts, receipt: Receipt, estimate: str) -> Release:
    """Noisy counts of the opened cells of a shifted quadtree, and weights estimated from them, of
    middles of the closed cells and of parts of the large ones.

    It tells besides the ``cells``, their ``counts`` and ``amounts``, the estimated demand in each.
    """
    whole = counts.estimated(cells, estimate)
    fine, amounts = refined(cells, whole, POINTS)
    weights = amounts[fine.leaves]
    diameter = fine.diameter[fine.leaves]
    held = np.maximum(weights, 0.0) + 1e-300
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
        # about what a cell's points are away from its middle
        smooth=float((held * diameter).sum() / held.sum()) / 4,
    )


def solver_centers(release: Any, question: Question) -> Floats:
    """Points of low cost for the weights, then for their signed values, shape (k, d)."""
    points = release.universe.points
    power = question.power
    smooth = release.smooth
    if len(points) > SOLVER_POINTS:
        held = np.maximum(release.weights, 0.0)
        found = searched(points, held, question.k, power=power, seed=question.seed, smooth=smooth)
    else:
        found = points[on_weights(release, question)]
    better = settled(points, release.weights, found, power=power, smooth=smooth)
    return distinct(better, points)
