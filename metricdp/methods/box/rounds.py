"""Two rounds of noisy counts and means in the Voronoi cells of candidates, for boxes of many
dimensions.

1. The first candidates are random points in the ellipsoid of a released subspace
   (`metricdp.methods.box.directions`). Release the count and the clipped sum of each one's cell.
2. The next candidates are the means of the cells above the noise threshold, and random points
   around them. Release a histogram of shells, a quantile of which is the clipping radius, then
   counts and sums.

The means and counts of the second round are a coreset. A cloud of public points, at the records'
distances from their mean, stands for the records of cells below the threshold.

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

from metricdp.arguments import Floats
from metricdp.kernels.points import nearest_centers
from metricdp.methods.asking import Ask, Image, Terms, clipped_sums, deviation, least_radius
from metricdp.methods.box.anywhere import on_points
from metricdp.methods.box.directions import Design, Shares
from metricdp.methods.box.distances import measured_together
from metricdp.methods.demand_release import Release
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
"""Bounds of a round's candidates: the first two if k is not known, the last in any case."""
A_CENTER = (4, 12)
"""Candidates for each center, at least and at most, if their number is known; but up to half of
`MOST` for fewer centers.
"""
PROBES = 500
"""Random public points: their distances from the first candidates set the clipping radius."""
SCATTER = (0.2, 0.8)
"""Sizes of the ellipsoids in which second candidates are drawn, as fractions of the distance from
the mean to the nearest first candidate.
"""
CLOUD = 512
"""Public points for the records of cells below the threshold."""


@dataclass(frozen=True)
class Settings:
    """Settings that differ between the whole box and a subspace, where the noise of sums is larger
    beside the records' distances.

    `fewest` candidates; `records_per_noise` that each should have; `reach` of every other first
    candidate, as clusters may lie outside of the ellipsoid; `threshold` of counts, in deviations of
    noise; `first_clip`, `second_clip`, `last_clip`: quantiles of distances at which the sums of the
    two rounds and of the last step are clipped, the last by power.
    """

    fewest: int
    records_per_noise: float
    reach: float
    threshold: float
    first_clip: float
    second_clip: float
    last_clip: dict[int, float]


WHOLE = Settings(0, 2.0, 2.0, 3.0, 0.9, 0.995, {1: 0.5, 2: 0.9})
ALONG = Settings(8, 1.2, 1.0, 2.0, 0.6, 0.6, {1: 0.2, 2: 0.2})
"""In the whole box, and along fewer directions."""


class Round(NamedTuple):
    """What a round released: cells and their noisy counts, and, of the m cells above the threshold,
    means (m, q) and counts as weights (m,).
    """

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
    """The release of two rounds, with ``design``, ``subspace`` and ``n_means`` as facts.

    `found`: the second round; `left_out`: records that its weights leave out, spread over the
    `cloud` (n, d); `sampled`: the share of the records that the rounds read.
    """
    points = np.concatenate([subspace.outside(found.means), cloud])
    weights = np.concatenate([found.weights, np.full(len(cloud), left_out / len(cloud))])
    if np.ptp(points, axis=0).max() < EXTENTS[0]:  # closer than distances can be: one place
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
    """Both rounds; returns the second. See the module's text for the steps."""
    settings = WHOLE if subspace.is_whole else ALONG
    image = seen if subspace.axes is None else seen.mapped(subspace, subspace.space)
    noise = terms.deviation_of_counts(shares.counts) * np.sqrt(len(subspace.middle))
    n_candidates = number_of_candidates(records / noise, k, settings)
    candidates = subspace.drawn(n_candidates, rng, settings.reach)
    probes = subspace.drawn(PROBES, rng, settings.reach)
    distance = np.sqrt(nearest_centers(probes, candidates)[1])
    radius = float(np.quantile(distance, settings.first_clip))
    paid = (shares.counts, shares.sums)
    first = yield from one_round(image, candidates, radius, paid, settings.threshold)
    if len(first.means):
        candidates = subspace.space.clip(
            around(first.means, first.weights, n_candidates, candidates, subspace.ellipsoid, rng)
        )
    distances = yield from measured_together(image, candidates, shares.shells)
    if len(first.means):
        radius = distances.clipping(settings.second_clip)
    paid = (shares.counts_2, shares.sums_2)
    return (yield from one_round(image, candidates, radius, paid, settings.threshold))


def number_of_candidates(records_per_noise: float, k: int | None, settings: Settings) -> int:
    """Candidates of a round, from the number of records over √q deviations of a count's noise."""
    fewest = min(FEWEST, MOST)
    most = MOST
    if k is not None:
        least, enough = A_CENTER
        fewest = int(np.clip(k * least, fewest, EVER))
        most = int(np.clip(k * enough, MOST // 2, EVER))
    number = records_per_noise / settings.records_per_noise
    return int(np.clip(number, settings.fewest or fewest, most))


def one_round(
    image: Image,
    candidates: Floats,
    radius: float,
    shares: tuple[Fraction, Fraction],
    threshold: float,
) -> Generator[Ask, Noisy, Round]:
    """Release the counts of the candidates' Voronoi cells, and the sums of offsets clipped at a
    radius, for the two shares. `threshold`: deviations of noise that a cell's count must exceed.
    """
    space = image.universe
    cells = VoronoiCells(space, candidates)
    counted = yield Ask(HistogramQuery(cells), shares[0], image)
    radius = max(radius, least_radius(space))
    sums = clipped_sums(cells, candidates, np.full(len(candidates), radius))
    summed = yield Ask(sums, shares[1], image)
    counts = counted.values.astype(float)
    error = deviation(summed) * sums.steps[0] * np.sqrt(candidates.shape[1])
    # the error of a mean, error / count, must be below the radius too
    good = counts > np.maximum(threshold * deviation(counted), error / radius)
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
    """The means (m, q), and random points around means drawn by weight, `n_candidates` in all: in
    copies of the ellipsoid as large as `SCATTER` says of the distance to the `first` candidates.
    """
    n_new = max(n_candidates - len(means), 0)
    parent = rng.choice(len(means), n_new, p=weights / weights.sum())
    scale = rng.uniform(*SCATTER, (n_new, 1))
    gap = np.sqrt(nearest_centers(means, first)[1])[parent, None] * scale
    size = float(np.sqrt((ellipsoid**2).sum() / len(ellipsoid)))
    scatter = gap * (ball(n_new, means.shape[1], rng) @ ellipsoid) / max(size, 1e-300)
    return np.concatenate([means, means[parent] + scatter])
