"""Two rounds of noisy counts and means in the Voronoi cells of candidates, for boxes of many
dimensions.

1. Candidates are random in the ellipsoid of a released subspace
   (`metricdp.methods.box.directions`). Release each cell's count and clipped sum.
2. The next candidates are the means of the cells above the noise threshold, and random points
   around them. Release shells, whose quantile clips the sums, then counts and sums.

The means and counts of the second round are a coreset, with a cloud of public points for the
records that these counts leave out: as far from the records' mean as they are.

**Privacy.** A round is one `HistogramQuery` and one `SumsQuery`, between them one `HistogramQuery`
of shells, in shares of one budget. Candidates and radii follow from public coins and earlier
releases.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from metricdp.arrays import Floats
from metricdp.kernels.points import nearest_centers
from metricdp.methods.asking import Ask, Image
from metricdp.methods.box.anywhere import on_points
from metricdp.methods.box.directions import Design, Shares
from metricdp.methods.box.distances import measured_together
from metricdp.methods.demand_release import Release
from metricdp.methods.shares import Terms, clipped_sums, deviation, least_radius
from metricdp.metrics.base import EXTENTS
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.cells import VoronoiCells
from metricdp.partitions.box.subspace import Subspace, ball
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Receipt
from metricdp.releases import Release as Noisy

FEWEST = 16
MOST = 256
EVER = 1024
"""Candidates of a round, where the number of centers is not known; where it is, up to so many, …"""
A_CENTER = (4, 12)
"""… at least and at most for each center, or half of the most."""
PROBES = 500
"""Random points whose distances from the first candidates are looked at: public."""
SCATTER = (0.2, 0.8)
"""Sizes of ellipsoids for the second candidates, in steps from candidate to mean."""
CLOUD = 512
"""Points that stand for the records of cells that are not above the threshold."""


@dataclass(frozen=True)
class Sizes:
    """What depends on whether the noise of sums is small beside the records' distances.

    `fewest` candidates; `records_per_noise` that each should have; `reach` of every other first
    candidate, as clusters may lie outside of the ellipsoid; `stands_out`, the noise threshold;
    `public`, `farthest`, `clipped`: quantiles of distances at which sums are clipped, in the first,
    second and last step.
    """

    fewest: int
    records_per_noise: float
    reach: float
    stands_out: float
    public: float
    farthest: float
    clipped: dict[int, float]


WHOLE = Sizes(0, 2.0, 2.0, 3.0, 0.9, 0.995, {1: 0.5, 2: 0.9})
ALONG = Sizes(8, 1.2, 1.0, 2.0, 0.6, 0.6, {1: 0.2, 2: 0.2})
"""In the whole box, and along fewer directions."""


class Round(NamedTuple):
    """What a round released: cells, noisy counts, and means of cells above the threshold."""

    cells: VoronoiCells
    counted: Noisy
    means: Floats
    weights: Floats


def release_of_rounds(
    design: Design,
    subspace: Subspace,
    found: Round,
    cloud: Floats,
    left_out: float,
    sampled: float,
    receipt: Receipt,
) -> Release:
    """The release of two rounds, with ``design``, ``subspace`` and ``n_means``; records that the
    counts leave out are spread over the cloud.
    """
    points = np.concatenate([subspace.outside(found.means), cloud])
    weights = np.concatenate([found.weights, np.full(len(cloud), left_out / len(cloud))])
    if np.ptp(points, axis=0).max() < EXTENTS[0]:  # nearer than distances are: one place
        points = np.repeat(points[:1], len(points), axis=0)
    return Release(
        EuclideanMetric(points),
        weights / sampled,
        receipt,
        space=subspace.universe,
        partition=found.cells,
        histograms=(found.counted,),
        search=on_points,
        design=design,
        subspace=subspace,
        n_means=len(found.means),
    )


def two_rounds(
    terms: Terms,
    seen: Image,
    shares: Shares,
    subspace: Subspace,
    records: float,
    k: int | None,
    rng: np.random.Generator,
) -> Generator[Any, Any, Round]:
    """The second round, after the first; see the module's text."""
    sizes = WHOLE if subspace.is_whole else ALONG
    image = seen if subspace.axes is None else seen.mapped(subspace, subspace.space)
    noise = terms.deviation_of_counts(shares.counts) * np.sqrt(len(subspace.middle))
    n_candidates = number_of_candidates(records / noise, k, sizes)
    candidates = subspace.drawn(n_candidates, rng, sizes.reach)
    probes = subspace.drawn(PROBES, rng, sizes.reach)
    away = np.sqrt(nearest_centers(probes, candidates)[1])
    public = float(np.quantile(away, sizes.public))
    paid = (shares.counts, shares.sums)
    first = yield from one_round(image, candidates, public, paid, sizes.stands_out)
    again = candidates
    if len(first.means):
        again = subspace.space.clip(
            around(first.means, first.weights, n_candidates, candidates, subspace.ellipsoid, rng)
        )
    distances = yield from measured_together(image, again, shares.shells)
    near = distances.clipping(sizes.farthest) if len(first.means) else public
    paid = (shares.counts_2, shares.sums_2)
    return (yield from one_round(image, again, near, paid, sizes.stands_out))


def number_of_candidates(records_per_noise: float, k: int | None, sizes: Sizes) -> int:
    """Candidates of a round, by the records for each √q deviations of a count's noise."""
    fewest = min(FEWEST, MOST)
    most = MOST
    if k is not None:
        least, enough = A_CENTER
        fewest = int(np.clip(k * least, fewest, EVER))
        most = int(np.clip(k * enough, MOST // 2, EVER))
    number = records_per_noise / sizes.records_per_noise
    return int(np.clip(number, sizes.fewest or fewest, most))


def one_round(
    image: Image,
    candidates: Floats,
    radius: float,
    shares: tuple[Fraction, Fraction],
    stands_out: float,
) -> Generator[Ask, Noisy, Round]:
    """Cells of candidates, noisy counts, and means above the threshold; sums are clipped."""
    space = image.universe
    cells = VoronoiCells(space, candidates)
    counted = yield Ask(HistogramQuery(cells), shares[0], image)
    radius = max(radius, least_radius(space))
    sums = clipped_sums(cells, candidates, np.full(len(candidates), radius))
    summed = yield Ask(sums, shares[1], image)
    counts = counted.values.astype(float)
    blur = deviation(summed) * sums.steps[0] * np.sqrt(candidates.shape[1])
    good = counts > np.maximum(stands_out * deviation(counted), blur / radius)
    offsets = summed.values.reshape(candidates.shape)[good] * sums.steps[0] / counts[good, None]
    length = np.linalg.norm(offsets, axis=1, keepdims=True)
    offsets *= np.minimum(1.0, radius / np.maximum(length, 1e-300))
    means = cells.universe.clip(candidates[good] + offsets)
    return Round(cells, counted, means, counts[good])


def around(
    means: Floats,
    weights: Floats,
    n_candidates: int,
    first: Floats,
    ellipsoid: Floats,
    rng: np.random.Generator,
) -> Floats:
    """The means, and random points around them by weight, up to `n_candidates`."""
    spare = max(n_candidates - len(means), 0)
    parent = rng.choice(len(means), spare, p=weights / weights.sum())
    wide = rng.uniform(*SCATTER, (spare, 1))
    gap = np.sqrt(nearest_centers(means, first)[1])[parent, None] * wide
    size = float(np.sqrt((ellipsoid**2).sum() / len(ellipsoid)))
    scatter = gap * (ball(spare, means.shape[1], rng) @ ellipsoid) / max(size, 1e-300)
    return np.concatenate([means, means[parent] + scatter])
