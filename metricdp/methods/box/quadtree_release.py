"""Weights from the cells of an opened quadtree, and centers from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arrays import Floats
from metricdp.kernels.hst_medians import table_sizes, tree_k_median
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.anywhere import searched
from metricdp.methods.box.cell_counts import CellCounts
from metricdp.methods.box.grid_release import REACH, pulls, weighted_quantile
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


def release_of(
    cells: OpenedCells, counts: CellCounts, receipt: Receipt, estimate: str, how: str
) -> Release:
    """Noisy counts of the opened cells of a shifted quadtree, and weights estimated from them, of
    middles of the closed cells and of parts of the large ones; `how` names the search.

    It tells besides the ``cells``, their ``counts`` and ``amounts``, the estimated demand in each.
    """
    whole = counts.estimated(cells, estimate, receipt.mechanisms[-1].scale)
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
        search=SEARCHES[how],
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


def tree_centers(release: Any, question: Question) -> Floats:
    """Middles of the k cells of the paper's dynamic program on `amounts` (Algorithm 3), shape
    (k, d).

    Where there are fewer closed cells than centers, the largest are divided.
    """
    k = question.k
    cells, amounts = refined(release.cells, release.amounts, k)
    places = (cells.child < 0).astype(np.int64)
    for v in range(len(places) - 1, 0, -1):
        places[cells.parent[v]] += places[v]
    at = table_sizes(cells.parent, places, k)
    away = cells.diameter**question.power
    _, centers = tree_k_median(cells.parent, amounts, away, np.zeros_like(places), places, k, *at)
    found: Floats = cells.centers[np.flatnonzero((centers > 0) & (cells.child < 0))]
    return found


SEARCHES = {"solver": solver_centers, "tree": tree_centers}


def radii_and_mass(release: Any, centers: Floats, power: int) -> tuple[Floats, Floats]:
    """For a step from these centers: radii of clipping, and divisors of sums, both (k,)."""
    counts = release.weights
    label, square = nearest_centers(release.universe.points, centers)
    distance = np.sqrt(square)
    radii = np.full(len(centers), 2 * release.smooth)
    for j in range(len(centers)):
        at = label == j
        radii[j] = max(radii[j], weighted_quantile(distance[at], counts[at], REACH[power]) or 0)
    return radii, pulls(counts, distance, radii[label], label, power, len(centers))
