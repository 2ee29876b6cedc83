"""Weights from the cells of an opened quadtree, and centers from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.hst_medians import table_sizes, tree_k_median
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.box_release import searched
from metricdp.methods.box.cell_counts import CellCounts
from metricdp.methods.box.grid_release import REACH, pulls, weighted_quantile
from metricdp.methods.demand_release import DemandRelease, on_weights
from metricdp.methods.question import Question
from metricdp.methods.result import Result
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.quadtree import OpenedCells
from metricdp.releases import Receipt
from metricdp.solvers.lloyd import distinct, settled

SOLVER_POINTS = 10_000
"""Beyond, the solver starts from seedings only."""
POINTS = 4096
"""Points on which a release is solved at least: large cells stand for several."""


class QuadtreeRelease(DemandRelease):
    """Noisy counts of the opened cells of a shifted quadtree, and weights estimated from them.

    Attributes
    ----------
    cells : OpenedCells
        Public given the counts.
    counts : CellCounts
        Each cell's own noisy counts, averaged by precision.
    amounts : ndarray of float64, shape (n_cells,)
        Estimated demand in each cell.
    universe : EuclideanMetric
        Middles of the closed cells, and of parts of the large ones.
    weights : ndarray of float64, shape (n_points,), read-only
        Estimated demand around every point.
    receipt : Receipt
        What it cost.
    """

    method = "quadtree"
    universe: EuclideanMetric

    def __init__(
        self, cells: OpenedCells, counts: CellCounts, receipt: Receipt, estimate: str, how: str
    ) -> None:
        self.cells = cells
        self.counts = counts
        self._how = how
        self.amounts = counts.estimated(cells, estimate, receipt.mechanisms[-1].scale)
        fine, amounts = cells.refined(self.amounts, POINTS)
        weights = amounts[fine.leaves]
        diameter = fine.diameter[fine.leaves]
        held = np.maximum(weights, 0.0) + 1e-300
        self._smooth = (
            float((held * diameter).sum() / held.sum()) / 4
        )  # about what a cell's points are away from its middle
        super().__init__(
            EuclideanMetric(fine.centers[fine.leaves]),
            weights,
            receipt,
            space=cells.universe,
        )

    def __repr__(self) -> str:
        return (
            f"QuadtreeRelease({self.cells.universe.name}, {self.cells.n_parts:,} cells, epsilon "
            f"{float(self.receipt.epsilon):g})"
        )

    def answer(self, question: Question) -> Result:
        """Centers for a question that was checked already: post-processing, free."""
        if self._how == "tree":
            centers = self.tree_centers(question.k, question.power)
        else:
            centers = self._solver_centers(question)
        return Result(centers, question.k, self.method, self.receipt, self)

    def _solver_centers(self, question: Question) -> NDArray[np.float64]:
        points = self.universe.points
        power = question.power
        smooth = self._smooth
        if len(points) > SOLVER_POINTS:
            held = np.maximum(self.weights, 0.0)
            found = searched(
                points, held, question.k, power=power, seed=question.seed, smooth=smooth
            )
        else:
            found = points[on_weights(self, question)]
        better = settled(points, self.weights, found, power=power, smooth=smooth)
        return distinct(better, points)

    def radii_and_mass(
        self, centers: NDArray[np.float64], power: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For a step from these centers: where their records' offsets are clipped, and what their
        sums are divided by, both of shape (k,).
        """
        points = self.universe.points
        counts = self.weights
        label, square = nearest_centers(points, centers)
        distance = np.sqrt(square)
        radii = np.full(len(centers), 2 * self._smooth)
        for j in range(len(centers)):
            at = label == j
            radii[j] = max(radii[j], weighted_quantile(distance[at], counts[at], REACH[power]) or 0)
        return radii, pulls(counts, distance, radii[label], label, power, len(centers))

    def tree_centers(self, k: int, power: int = 1) -> NDArray[np.float64]:
        """Middles of the k cells of the paper's dynamic program on `amounts` (Algorithm 3), shape
        (k, d).

        Where there are fewer closed cells than centers, the largest are divided.
        """
        cells, amounts = self.cells.refined(self.amounts, k)
        places = (cells.child < 0).astype(np.int64)
        for v in range(len(places) - 1, 0, -1):
            places[cells.parent[v]] += places[v]
        at = table_sizes(cells.parent, places, k)
        away = cells.diameter**power
        _, centers = tree_k_median(
            cells.parent, amounts, away, np.zeros_like(places), places, k, *at
        )
        return cells.centers[np.flatnonzero((centers > 0) & (cells.child < 0))]
