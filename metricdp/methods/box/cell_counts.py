"""Released counts of the cells of an opened quadtree, and what they tell together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricdp.arrays import Floats, Ints
from metricdp.kernels.hst_passes import consistent_counts, settled_counts
from metricdp.methods.finite.hst_counts import noise_variance
from metricdp.partitions.box.quadtree import OpenedCells
from metricdp.releases import Release

SUPPORT = 3.0
"""Standard deviations of noise above which a cell's estimate is distinguished from nothing."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Released counts of cells (n_cells,) and their noise variances, infinite if not counted."""

    measured: Floats
    variance: Floats

    def with_values(self, cells: OpenedCells, at: Ints, release: Release) -> CellCounts:
        """These, and a histogram of the cells `at`; earlier counts are averaged by precision."""
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

    def consistent(self, cells: OpenedCells) -> tuple[Floats, Floats]:
        """Least-squares estimates that add up (Hay et al., VLDB 2010), and bounds of variances."""
        found: tuple[Floats, Floats] = consistent_counts(
            cells.parent, self.measured, self.variance, cells.volume
        )
        return found

    def supported(self, cells: OpenedCells) -> Floats:
        """The same above the noise threshold, from the root down."""
        estimate, variance = self.consistent(cells)
        amounts, stands = settled_counts(
            cells.parent, estimate, SUPPORT * np.sqrt(variance), cells.volume
        )
        above = cells.parent
        empty = np.zeros(len(estimate), bool)
        beside = np.zeros(len(estimate), bool)
        beside[above[1:][stands[1:]]] = True
        for level in range(1, int(cells.level.max()) + 1):
            at = np.flatnonzero(cells.level == level)
            empty[at] = empty[above[at]] | (beside[above[at]] & ~stands[at])
        return np.where(empty, 0.0, amounts)

    def estimated(self, cells: OpenedCells, estimate: str) -> Floats:
        """Estimates of all cells by one of `ESTIMATES`."""
        if estimate == "own":
            return np.where(np.isinf(self.variance), self.consistent(cells)[0], self.measured)
        return self.supported(cells)
