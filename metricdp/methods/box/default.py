"""The default method in a box of more than three dimensions.

1. Pay 2.5 % of the budget for the number of records. It decides the *design*: the shares of all
   reads and the number of directions (`metricdp.methods.box.directions`).
2. Release the mean of the records, and their distances from it.
3. Release the directions along which records spread: a subspace with an ellipsoid in it.
4. Release a coreset by two rounds of counts and means in the Voronoi cells of candidates. The first
   are random points in the subspace's ellipsoid; the next are the means of the cells above the
   noise threshold, and random points around them. A public cloud of points, at the records'
   distances from their mean, stands for the records that these counts leave out.
5. For k centers, move the coreset's centers by one private step on the records, in all dimensions
   (`metricdp.methods.box.descent`).

With more than `ENOUGH` records, steps 2 to 4 read a random sample. Where directions cannot be
distinguished from noise, steps 3 to 5 are left out. Without a delta, few records in up to six
dimensions are counted in a tree of halved cells instead (`metricdp.methods.box.halved`).

**Privacy.** All reads are `CountQuery`, `HistogramQuery`, `SumsQuery` and `LevelsQuery` of records
or their images, in shares of one budget: of epsilon, with discrete Laplace noise (sequential
composition), or, with a delta, of rho, with discrete Gaussian noise (zCDP). A round is one
`HistogramQuery` and one `SumsQuery`, between them one `HistogramQuery` of shells. Designs,
candidates and radii follow from public facts and earlier releases; all else is post-processing.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from metricdp.arguments import Floats
from metricdp.kernels.points import nearest_centers
from metricdp.methods.asking import (
    Account,
    Ask,
    Image,
    Records,
    Steps,
    Terms,
    clipped_sums,
    count_records,
    deviation,
    least_radius,
)
from metricdp.methods.box.anywhere import on_points
from metricdp.methods.box.descent import Step, descended, distinct_in, measured_together
from metricdp.methods.box.directions import (
    MOST_AXES,
    Design,
    Shares,
    chosen_design,
    private_mean,
    private_subspace,
    scales_around,
)
from metricdp.methods.box.halved import COUNT_SHARE, halved
from metricdp.methods.demand_release import Release
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import BoxQuestion, Result
from metricdp.metrics.base import EXTENTS
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.cells import (
    PartsOfImages,
    Scaled,
    Subspace,
    VoronoiCells,
    WholeBox,
    ball,
)
from metricdp.privacy.queries import HistogramQuery, LevelsQuery
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


MARGIN = 2.0
MARGIN_ALONG = 1.0
"""Lengths of noise below which the last step is not taken, in the whole box and in a subspace."""
AT_MEAN = 0.5
"""Share of the records that is put on the mean where only that is known; the cloud has the others.
An eighth costs about the same, none 3 % more on average (benchmarks/subspace.md).
"""
OUTSKIRTS = 0.25
LEAST = 1e-3
"""Shares of the records. Cells below the threshold but near those above it usually hold the first,
which the cloud does not get; the cloud gets at least the second, for centers that outnumber the
means. With .0 for the first, k-means of clusters costs up to a fifth more, of spread records about
the same.
"""
ENOUGH = 1 << 18
RECORDS_PER_NOISE = 1 << 15
"""Size of the rounds' sample: the first, or the second times a sum's noise, if that is larger."""

FEW = 128_000.0
FEW_DIMENSIONS = 6
ASSUMED_CENTERS = 20
"""In up to six dimensions d, fewer than `FEW` / d^4 records per unit of noise and center (20
centers if k is not known) are counted in halved cells: sums of few records are mostly noise
(benchmarks/euclidean.md).
"""


@dataclass(frozen=True, kw_only=True)
class RoundsMethod(Method):
    """The default method of a box of many dimensions: `rounds_release`, a public solver on its
    coreset, and one private step.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP, by the module's text.
    """

    name = "partition"
    chooses = (
        "The number of records is bought as a noisy count for 2.5 % of epsilon, unless it is "
        "public (replace-one) or guessed (records_hint). Candidates, clipping radii and the shares "
        "of all reads follow from the box, that count and what was released before."
    )
    afterwards = (
        "Candidates above the noise threshold become weighted points; centers by a public solver "
        "on them, moved, unless records are few, by one private step that is paid for."
    )
    in_space = True
    releases = True

    def composition(self, offer: Terms) -> Composition:
        """rho: every share is paid in it."""
        return "rho"

    def least(self, terms: Terms, question: BoxQuestion) -> Iterable[Ask]:
        """The sums along the largest number of directions."""
        space = question.space
        whole = clipped_sums(WholeBox(space))
        most = min(MOST_AXES, space.dimension)
        return [Ask(LevelsQuery((whole,) * most), COUNT_SHARE)]

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """The release; or, for k centers, these and the release they were computed from."""
        space, k = question.space, question.k
        count = yield from count_records(terms, COUNT_SHARE, self.records_hint)
        d = space.dimension
        few = FEW / d**4 * (k or ASSUMED_CENTERS) * terms.scale_of_counts(Fraction(1))
        if d <= FEW_DIMENSIONS and not terms.in_rho and count.number < few:
            return (yield from halved(terms, question, count, None))
        found = yield from rounds_release(terms, space, count, k or None, seed=question.seed)
        if not k:
            return found.release
        centers = found.release.search(found.release, question)
        moved = yield from last_step(found, centers, question.power)
        return Result(moved, question.k, self.name, (yield Account()).receipt, found.release)


class Rounds(NamedTuple):
    """A release of rounds, and what the last step needs: the records that the rounds have `seen`
    (all, or a sample), and the budget `shares`.
    """

    release: Release
    seen: Image
    shares: Shares


def rounds_release(
    terms: Terms, space: EuclideanSpace, count: Records, k: int | None = None, *, seed: int = 0
) -> Generator[Any, Any, Rounds]:
    """Steps 2 to 4 of the module's text, which states the guarantee.

    For q directions and M candidates O(n · (M + d) · q) in all: some ten passes over the n records
    (or a sample), two for every direction.
    """
    rng = np.random.default_rng([seed, 11])
    noise = terms.deviation_of_sums(space, Fraction(1))
    records = count.number
    seen = Image(space)
    sampled = max(ENOUGH, RECORDS_PER_NOISE * noise) / max(records, 1.0)
    # not of users' weight units: a sample has fewer of them under the same noise
    if terms.weight_units > 1 or sampled >= 1:
        sampled = 1.0
    else:
        seen = seen.subsampled(sampled)
        records *= sampled
    design = chosen_design(space.dimension, records, noise, terms.in_rho)
    shares = design.shares
    # shares are scaled to what the count left, and again to what the means left
    rest = shares.total(k is not None)
    left = (yield Account()).left
    mean = yield from private_mean(seen, records, shares.times(left / rest))
    rest -= shares.middle_shells + shares.mean + shares.mean_shells
    left = (yield Account()).left
    paid = shares.times(left / rest) if rest else shares
    subspace = yield from private_subspace(seen, design.n_axes, paid, mean, records, rng)
    if design.n_axes:
        found = yield from two_rounds(terms, seen, paid, subspace, records, k, rng)
    else:
        cells = VoronoiCells(space, mean.point[None])
        counted = yield Ask(HistogramQuery(cells), paid.counts, seen)
        found = Round(cells, counted, mean.point[None], np.array([max(records, 1.0) * AT_MEAN]))
    outskirts = OUTSKIRTS if design.n_axes else 0.0
    left_out = max((1 - outskirts) * records - float(found.weights.sum()), LEAST * records, 1.0)
    cloud = subspace.cloud(mean.distances.drawn(CLOUD // 2, rng), mean.distances.quantile(0.5), rng)
    receipt = (yield Account()).receipt
    release = release_of_rounds(design, subspace, found, cloud, left_out, sampled, receipt)
    return Rounds(release, seen, paid)


def last_step(found: Rounds, centers: Floats, power: int) -> Generator[Any, Any, Floats]:
    """Move a release's centers (k, d) by one private step on all records: k distinct points.

    Shells of the rounds' records set the clipping radius; the release's weights are the divisors.
    """
    release, seen, shares = found
    if not shares.last_sums:
        return centers
    space = release.space
    whole = release.subspace.is_whole
    scaled = None
    everyone = Image(space)
    cells: Any = VoronoiCells(space, centers)
    if not whole:
        point = release.subspace.point
        scaled = Scaled(space, point, scales_around(space, point))
        seen = seen.mapped(scaled, scaled.space)
        everyone = everyone.mapped(scaled, scaled.space)
        cells = PartsOfImages(scaled.space, scaled.back, cells)
    places = centers if scaled is None else scaled.encode(centers)
    distances = yield from measured_together(seen, places, shares.last_shells)
    radius = distances.quantile((WHOLE if whole else ALONG).last_clip[power])
    label = nearest_centers(release.universe.points, centers)[0]
    weight = np.bincount(label, release.weights, len(centers)).astype(np.float64)
    if power == 1 or not whole:
        weight *= distances.clipping_factor(radius)
    radii = np.full(len(centers), radius)
    step = Step(radii, weight, MARGIN)
    if scaled is not None:
        farthest = np.maximum(radii, least_radius(scaled.space))
        step = Step(radii, weight, MARGIN_ALONG, farthest, together=True, scaled=scaled)
    moved = yield from descended(cells, centers, step, shares.last_sums, everyone)
    return distinct_in(space, moved)
