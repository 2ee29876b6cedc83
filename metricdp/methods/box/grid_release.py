"""From the noisy counts of a grid's cells to a coreset, and to the radii at which
`metricdp.methods.box.default` clips.

A cell counts if the 3^d box of noisy counts around it is above the noise threshold, alone or merged
with others (`metricdp.partitions.box.standing`). Centers are found on these cells, then improved on
the signed counts. All of it is post-processing of one histogram.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arrays import Floats, Ints
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.anywhere import anywhere, searched
from metricdp.methods.demand_release import Coreset, Release
from metricdp.methods.shares import deviation
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.grid import NestedGrid
from metricdp.partitions.box.standing import standing_groups
from metricdp.releases import Receipt
from metricdp.releases import Release as Noisy
from metricdp.solvers.lloyd import settled
from metricdp.solvers.stopping import Deadline

STANDS_OUT = 4.0
STANDS_OUT_FAR = 5.5
"""A box of cells stands out if its sum exceeds this many standard deviations of its noise; where
finer grids lie inside of the grid, so that a lone cell would be far from all that matters, this
many.
"""
REACH = {1: 0.5, 2: 0.85}
"""Quantile of a cluster's distances at which a step clips: for k-median and k-means."""


def release_of(grid: NestedGrid, histogram: Noisy, receipt: Receipt) -> Release:
    """The release of a grid's cells: noisy counts of the cells above the threshold, and 0
    elsewhere. ``standing`` and ``signed`` tell which cells, and their raw counts; all, if none
    stands out.
    """
    noise = deviation(histogram)
    least = (STANDS_OUT * noise, STANDS_OUT_FAR * noise)
    group = standing_groups(grid, histogram.values, least)[0]
    standing = group >= 0
    at = group[standing]
    counts = (np.bincount(at, histogram.values[standing]) / np.bincount(at))[at]
    weights = np.zeros(grid.n_parts)
    weights[standing] = np.maximum(counts, 0.0)
    shown = standing if weights.sum() > 0 else np.ones(grid.n_parts, bool)
    sides = [np.broadcast_to(g.side, (g.n_own, len(g.side))) for g in grid.grids()]
    return Release(
        EuclideanMetric(grid.centers),
        weights,
        receipt,
        space=grid.universe,
        partition=grid,
        histograms=(histogram,),
        search=on_cells,
        standing=standing,
        signed=Coreset(
            grid.centers[shown],
            counts if shown is standing else np.ones(grid.n_parts),
            crs=grid.universe.crs,
        ),
        diagonals=grid.diagonals[shown],
        sides=np.concatenate(sides),
    )


@anywhere
def on_cells(release: Any, k: int, power: int, seed: int, deadline: Deadline) -> Floats:
    """k points of low cost for the clipped counts, then for the signed ones."""
    points, counts = release.signed
    smooth = release.diagonals / 4
    held = np.maximum(counts, 0.0)
    found = searched(points, held, k, power=power, seed=seed, deadline=deadline, smooth=smooth)
    return settled(points, counts, found, power=power, smooth=smooth)


def radii_and_mass(release: Any, centers: Floats, power: int) -> tuple[Floats, Floats]:
    """For a step from these centers: radii of clipping, and divisors of sums, both (k,)."""
    points, counts = release.signed
    label, square = nearest_centers(points, centers)
    distance = np.sqrt(square)
    half = release.diagonals / 2
    within = np.maximum(distance, half)
    radii = np.empty(len(centers))
    for j in range(len(centers)):
        at = label == j
        far = weighted_quantile(within[at], counts[at], REACH[power])
        radii[j] = half.min() if far is None else far
    return radii, pulls(counts, distance, radii[label], label, power, len(centers))


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float | None:
    """Of values by noisy weights, negative ones as 0; None where there are no others."""
    order = np.argsort(values)
    mass = np.cumsum(np.maximum(weights[order], 0.0))
    if not len(mass) or mass[-1] <= 0:
        return None
    return float(values[order][min(np.searchsorted(mass, share * mass[-1]), len(mass) - 1)])


def pulls(
    counts: Floats,
    distance: Floats,
    radius: Floats,
    label: Ints,
    power: int,
    k: int,
) -> Floats:
    """Divisors (k,) of clipped sums: counts, for medians counts by what clipping leaves."""
    force = counts if power == 2 else counts * radius / np.maximum(distance, radius)
    return np.bincount(label, force, k).astype(np.float64)
