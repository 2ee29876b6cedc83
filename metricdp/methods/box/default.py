"""The default method in a box of more than three dimensions, from the records to the centers.

1. Pay 2.5 % for the number of records. It decides the *design*: the shares of all reads, and how
   many directions are looked for (`metricdp.methods.box.directions`).
2. Release the mean, and how far from it the records are.
3. Release the directions along which records spread: a subspace with an ellipsoid in it.
4. Two rounds of counts and means around candidates (`metricdp.methods.box.rounds`) make a coreset;
   a public cloud of points around the mean stands for records that these counts leave out.
5. A call for k centers keeps a part for one step on the records, in all dimensions
   (`metricdp.methods.box.descent`).

With more than `ENOUGH` records, steps 2 to 4 read a random sample. Where directions cannot be
distinguished from noise, steps 3 to 5 are left out. Without a delta, few records in up to six
dimensions are counted in halves of cells in place of steps 2 to 5 (`metricdp.methods.box.halved`).

**Privacy.** All reads are `CountQuery`, `HistogramQuery`, `SumsQuery` and `LevelsQuery` of records
or their images, in shares of one budget: of epsilon, with discrete Laplace noise (sequential
composition), or, with a delta, of rho, with discrete Gaussian noise (zCDP). Designs, candidates and
radii follow from public facts and earlier releases; all else is post-processing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from metricdp.arrays import Floats
from metricdp.kernels.points import nearest_centers
from metricdp.methods.asking import Account, Ask, Image, Steps
from metricdp.methods.box.descent import Step, descended, distinct_in
from metricdp.methods.box.directions import (
    MOST_AXES,
    Shares,
    chosen_design,
    private_mean,
    private_subspace,
    scales_around,
)
from metricdp.methods.box.distances import measured_together
from metricdp.methods.box.halved import COUNT_SHARE, halved
from metricdp.methods.box.rounds import ALONG, CLOUD, WHOLE, Round, release_of_rounds, two_rounds
from metricdp.methods.demand_release import Release
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import BoxQuestion
from metricdp.methods.result import Result
from metricdp.methods.shares import Records, Terms, clipped_sums, count_records, least_radius
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import PartsOfImages, VoronoiCells, WholeBox
from metricdp.partitions.box.images import Scaled
from metricdp.privacy.queries import HistogramQuery, LevelsQuery

MARGIN = 2.0
MARGIN_ALONG = 1.0
"""Lengths of noise below which the last step is not taken; the same along few directions."""
AT_MEAN = 0.5
"""Share of the records that stands on the mean where only that is known; the cloud has the others.
An eighth costs about the same, none 3 % more on average (benchmarks/subspace.md).
"""
OUTSKIRTS = 0.25
LEAST = 1e-3
"""Shares of records: so many are in cells below the threshold anyway, near those above it, and have
no part in the cloud; so many it has at least, for centers that outnumber means. With .0 clusters
cost up to a fifth more for k-means, records that are spread about the same.
"""
ENOUGH = 1 << 18
RECORDS_PER_NOISE = 1 << 15
"""Records in the rounds' sample: so many, or so many for each noise deviation of a sum."""

FEW = 64_000.0
FEW_DIMENSIONS = 6
USUAL_CENTERS = 20
"""In d dimensions, up to six, fewer than `FEW` / d^4 records per unit of noise and center (of so
many where k is not known) are counted in halves of cells: sums of few records tell less
(benchmarks/euclidean.md).
"""


@dataclass(frozen=True, kw_only=True)
class RoundsMethod(Method):
    """What the default method is in a box of many dimensions: `rounds_release`, the solver on its
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
        "Candidates that stand out of the noise become weighted points; centers by a public solver "
        "on them, moved, unless records are few, by one private step that is paid for."
    )
    in_space = True
    releases = True

    def composition(self, offer: Terms) -> Composition:
        """rho: every share is paid in it."""
        return "rho"

    def least(self, terms: Terms, question: BoxQuestion) -> Iterable[Ask]:
        """Sums along as many directions as there may be."""
        space = question.space
        whole = clipped_sums(WholeBox(space))
        most = min(MOST_AXES, space.dimension)
        return [Ask(LevelsQuery((whole,) * most), COUNT_SHARE)]

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """The release; or centers, and the release they were computed from."""
        space, k = question.space, question.k
        count = yield from count_records(terms, COUNT_SHARE, self.records_hint)
        d = space.dimension
        few = FEW / d**4 * (k or USUAL_CENTERS) * terms.scale_of_counts(Fraction(1))
        if d <= FEW_DIMENSIONS and not terms.in_rho and count.number < few:
            return (yield from halved(terms, question, count, None))
        found = yield from rounds_release(terms, space, count, k or None, seed=question.seed)
        if not k:
            return found.release
        centers = found.release.search(found.release, question)
        moved = yield from last_step(found, centers, question.power)
        return Result(moved, question.k, self.name, (yield Account()).receipt, found.release)


class Rounds(NamedTuple):
    """A release of rounds, and what a step after it needs.

    `seen`: the records that the rounds read: all, or a sample; `shares`: of the budget.
    """

    release: Release
    seen: Image
    shares: Shares


def rounds_release(
    terms: Terms, space: EuclideanSpace, count: Records, k: int | None = None, *, seed: int = 0
) -> Generator[Any, Any, Rounds]:
    """A design, a subspace, and in it two rounds of counts and means; see the module's text for the
    steps and the guarantee.

    For q directions and M candidates O(n · (M + d) · q) in all: some ten passes over the n records
    (or a sample), two for every direction.
    """
    rng = np.random.default_rng([seed, 11])
    noise = terms.deviation_of_sums(space, Fraction(1))
    records = count.number
    seen = Image(space)
    sampled = max(ENOUGH, RECORDS_PER_NOISE * noise) / max(records, 1.0)
    # fewer weight units of a user would leave the noise as it is
    if terms.weight_units > 1 or sampled >= 1:
        sampled = 1.0
    else:
        seen = seen.subsampled(sampled)
        records *= sampled
    design = chosen_design(space.dimension, records, noise, terms.in_rho)
    shares = design.shares
    rest = shares.total(k is not None)
    left = (yield Account()).left
    mean = yield from private_mean(seen, records, shares.times(left / rest))
    rest -= shares.around + shares.mean + shares.near
    left = (yield Account()).left
    paid = shares.times(left / rest) if rest else shares
    subspace = yield from private_subspace(seen, design.n_axes, paid, mean, records, rng)
    if design.n_axes:
        found = yield from two_rounds(terms, seen, paid, subspace, records, k, rng)
    else:
        cells = VoronoiCells(space, mean.point[None])
        counted = yield Ask(HistogramQuery(cells), paid.counts, seen)
        found = Round(cells, counted, mean.point[None], np.array([max(records, 1.0) * AT_MEAN]))
    usual = OUTSKIRTS if design.n_axes else 0.0
    left_out = max((1 - usual) * records - float(found.weights.sum()), LEAST * records, 1.0)
    cloud = subspace.cloud(mean.distances.drawn(CLOUD // 2, rng), mean.distances.quantile(0.5), rng)
    receipt = (yield Account()).receipt
    release = release_of_rounds(design, subspace, found, cloud, left_out, sampled, receipt)
    return Rounds(release, seen, paid)


def last_step(found: Rounds, centers: Floats, power: int) -> Generator[Any, Any, Floats]:
    """One private step moves a release's centers, clipped by shells: k distinct points."""
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
    radius = distances.quantile((WHOLE if whole else ALONG).clipped[power])
    label = nearest_centers(release.universe.points, centers)[0]
    weight = np.bincount(label, release.weights, len(centers)).astype(np.float64)
    if power == 1 or not whole:
        weight *= distances.force(radius)
    radii = np.full(len(centers), radius)
    step = Step(radii, weight, MARGIN)
    if scaled is not None:
        farthest = np.maximum(radii, least_radius(scaled.space))
        step = Step(radii, weight, MARGIN_ALONG, farthest, together=True, scaled=scaled)
    moved = yield from descended(cells, centers, step, shares.last_sums, everyone)
    return distinct_in(space, moved)
