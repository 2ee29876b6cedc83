"""What is read off the noisy counts of a grid's cells: a coreset for any number of questions, and
where the last step of `metricdp.methods.box.default` clips.

Cells count if the 3^d box of noisy counts around them stands out of its noise, alone or merged with
others (`metricdp.partitions.box.standing`): the *standing* cells. A lone cell far away that is
large by chance would buy a center; a box of them hardly is. Their counts, negative ones as 0, are
the coreset. Centers are found on it, then improved on the signed counts, whose noise cancels where
clipped counts add up.

**Privacy.** All of it is post-processing of one histogram.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.box_release import BoxRelease, searched
from metricdp.methods.demand_release import Coreset
from metricdp.methods.shares import deviation
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.grid import NestedGrid
from metricdp.partitions.box.standing import standing_groups
from metricdp.releases import Receipt, Release
from metricdp.solvers.lloyd import settled
from metricdp.solvers.stopping import Deadline

STANDS_OUT = 4.0
STANDS_OUT_FAR = 5.5
"""A box of cells stands out if its sum exceeds this many standard deviations of its noise; where
finer grids lie inside of the grid, so that a lone cell would be far from all that matters, this
many.
"""
REACH = {1: 0.5, 2: 0.85}
"""Quantile of a cluster's distances, on the release, at which its records are clipped: for k-median
and for k-means.
"""

Array = NDArray[np.float64]


class GridRelease(BoxRelease):
    """A private release of where the demand is in a box, good for any number of questions.

    Attributes
    ----------
    universe : EuclideanMetric
        Middles of the grid's cells.
    space : EuclideanSpace
    partition : NestedGrid
    weights : ndarray of float64, shape (n_cells,), read-only
        Noisy counts of the standing cells, where cells stand out together only their mean, negative
        ones as 0; 0 elsewhere.
    histogram : Release
        The noisy counts themselves.
    signed : Coreset
        The standing cells and their noisy counts as they are; the whole grid, counted alike, if
        nothing stands out.
    standing : ndarray of bool, shape (n_cells,)
    receipt : Receipt
        What it cost.
    """

    def __init__(self, grid: NestedGrid, histogram: Release, receipt: Receipt) -> None:
        self.partition = grid
        self.histogram = histogram
        noise = deviation(histogram)
        least = (STANDS_OUT * noise, STANDS_OUT_FAR * noise)
        group = standing_groups(grid, histogram.values, least)[0]
        self.standing = group >= 0
        at = group[self.standing]
        mass = np.bincount(at, histogram.values[self.standing])
        self._counts = (mass / np.bincount(at))[at]
        weights = np.zeros(grid.n_parts)
        weights[self.standing] = np.maximum(self._counts, 0.0)
        super().__init__(grid.universe, EuclideanMetric(grid.centers), weights, receipt)

    def __repr__(self) -> str:
        return (
            f"GridRelease({self.space.name}, {self.partition.n_parts:,} cells, epsilon "
            f"{float(self.receipt.epsilon):g})"
        )

    def _points_at(self, at: NDArray[np.int64], coins: np.random.Generator) -> Array:
        """Uniform points of the cells."""
        grids = self.partition.grids()
        sides = np.concatenate([np.broadcast_to(g.side, (g.n_own, len(g.side))) for g in grids])
        offset = (coins.random((len(at), sides.shape[1])) - 0.5) * sides[at]
        return self.space.clip(self.partition.centers[at] + offset)

    @cached_property
    def signed(self) -> Coreset:
        """The standing cells and their noisy counts as they are; the whole grid, counted alike, if
        nothing stands out.
        """
        if self.weights.sum() <= 0:
            return Coreset(self.partition.centers, np.ones(len(self.weights)), crs=self.space.crs)
        return Coreset(self.partition.centers[self.standing], self._counts, crs=self.space.crs)

    @cached_property
    def _diagonals(self) -> Array:
        """Lengths of the diagonals of `signed`'s cells."""
        diagonals = self.partition.diagonals
        return diagonals[self.standing] if self.weights.sum() > 0 else diagonals

    def _found(self, k: int, power: int, seed: int, deadline: Deadline) -> Array:
        points, counts = self.signed
        smooth = self._diagonals / 4
        held = np.maximum(counts, 0.0)
        found = searched(points, held, k, power=power, seed=seed, deadline=deadline, smooth=smooth)
        return settled(points, counts, found, power=power, smooth=smooth)

    def radii_and_mass(self, centers: Array, power: int) -> tuple[Array, Array]:
        """For a step from these centers: where their records' offsets are clipped, and what their
        sums are divided by, both of shape (k,).
        """
        points, counts = self.signed
        label, square = nearest_centers(points, centers)
        distance = np.sqrt(square)
        half = self._diagonals / 2
        within = np.maximum(distance, half)
        radii = np.empty(len(centers))
        for j in range(len(centers)):
            at = label == j
            far = weighted_quantile(within[at], counts[at], REACH[power])
            radii[j] = half.min() if far is None else far
        return radii, pulls(counts, distance, radii[label], label, power, len(centers))


def weighted_quantile(values: Array, weights: Array, share: float) -> float | None:
    """Of values by noisy weights, negative ones as 0; None where there are no others."""
    order = np.argsort(values)
    mass = np.cumsum(np.maximum(weights[order], 0.0))
    if not len(mass) or mass[-1] <= 0:
        return None
    return float(values[order][min(np.searchsorted(mass, share * mass[-1]), len(mass) - 1)])


def pulls(
    counts: Array,
    distance: Array,
    radius: Array,
    label: NDArray[np.int64],
    power: int,
    k: int,
) -> Array:
    """What the clipped sums of k clusters are divided by: their counts for means; for medians each
    count by what clipping leaves of its distance. Shape (k,).
    """
    force = counts if power == 2 else counts * radius / np.maximum(distance, radius)
    return np.bincount(label, force, k).astype(np.float64)
