"""Noisy counts of the cells of a partly split quadtree, and joint estimates from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.kernels.hst_passes import consistent_counts, counts_above_noise
from metricdp.methods.finite.hst_counts import noise_variance
from metricdp.partitions.box.quadtree import QuadtreeCells
from metricdp.releases import Release

SUPPORT = 3.0
"""Standard deviations of noise above which a cell's estimate is distinguished from 0."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Released counts of cells (n_cells,) and their noise variances, infinite if not counted."""

    measured: Floats
    variance: Floats

    def with_values(self, cells: QuadtreeCells, at: Ints, release: Release) -> CellCounts:
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
