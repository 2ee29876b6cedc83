"""k-median by private maximum coverage: balls that cover most of the demand (Jones, Nguyen &
Nguyen, AAAI 2021).

1. Pay a share of epsilon for the number of records, unless it is public or guessed
   (`records_hint`).
2. *Cover*, with a tenth of epsilon and all of delta: greedily select public balls by the number of
   uncovered records in them.
3. *Count*, with another tenth, the records that each ball was the first to cover.
4. *Refine*: cut the public hierarchy into M parts, finer where step 3 found more records a point.
5. Release the histogram of the parts with the rest of epsilon, estimate, and solve for any k.

In a box of more than two dimensions it is the paper's Section 5: private candidates for half of
epsilon and delta (`private_candidates`, by locality-sensitive hashing, after Kaplan & Stemmer,
NeurIPS 2018), a cover by balls around them, and counts of the selected ones' cells.

**Privacy.** Steps 1, 2, 3 and 5 are the only reads. Step 2 is the greedy loop of
`metricdp.accounting.covering`, (epsilon/10, delta)-DP (proof P10); the others are counts with
Laplace noise. Sequential composition. For candidates, every record is in one bucket of each public
random hash: counts (`LevelsQuery`) and sums (`SumsQuery`) are the only reads, paid from one budget,
of rho or of epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from metricdp.accounting import Cost, exact
from metricdp.accounting.covering import exponent
from metricdp.arguments import Floats, Ints, count, shown
from metricdp.errors import InputError
from metricdp.methods.asking import (
    COUNT_SHARE,
    Account,
    Ask,
    Cover,
    Steps,
    Terms,
    Within,
    count_records,
    deviation,
)
from metricdp.methods.demand_release import Release, Search, on_weights
from metricdp.methods.finite.partition import Refinement
from metricdp.methods.finite.rounds import number_of_parts
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import BoxQuestion, PointsQuestion, Question
from metricdp.metrics.base import Metric
from metricdp.metrics.landmarks import landmarks
from metricdp.metrics.listing import listed_balls
from metricdp.metrics.set_systems import Balls
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.cells import BUCKETS, HashBuckets
from metricdp.partitions.finite.labels import LabelParts
from metricdp.partitions.finite.ward import hierarchy
from metricdp.privacy.queries import HistogramQuery, LevelsQuery, SumsQuery
from metricdp.privacy.scores import CoverQuery
from metricdp.protocols import SetSystem
from metricdp.releases import Receipt
from metricdp.solvers.lloyd import converged

HASHES = 3
"""Hashes: one for each radius."""
LARGEST = 8.0
"""The first radius is the diameter divided by this; each next one is half as large."""
COUNTS_SHARE = Fraction(1, 4)
THRESHOLD = 4.0
"""A bucket gives a candidate if its noisy count exceeds so many standard deviations of noise, …"""
NOISE_RADIUS = 1.0
"""… and if the noise of its mean is below this multiple of the hash's radius."""


def private_candidates(
    terms: Terms, space: EuclideanSpace, seed: int
) -> Generator[Any, Any, tuple[Floats, list[float]]]:
    """Release candidate centers (m, d) for the whole budget; also the hashes' radii."""
    radii = [space.diameter_bound() / (LARGEST * 2**i) for i in range(HASHES)]
    hashes = [HistogramQuery(HashBuckets(space, radius, seed)) for radius in radii]
    counts = yield Ask(LevelsQuery(tuple(hashes)), COUNTS_SHARE)
    noise = deviation(counts)
    found = []
    middle = (space.lower + space.upper) / 2
    for i, query in enumerate(hashes):
        count = counts.values[i * BUCKETS : (i + 1) * BUCKETS].astype(float)
        sums = SumsQuery(query)
        total = yield Ask(sums, (1 - COUNTS_SHARE) / HASHES)
        scale = total.receipt.mechanisms[0].scale * sums.steps[0] * np.sqrt(space.dimension)
        good = count > np.maximum(THRESHOLD * noise, scale / (NOISE_RADIUS * radii[i]))
        means = total.values.reshape(-1, space.dimension)[good] * sums.steps[0] / count[good, None]
        found.append(space.clip(middle + means))
    return np.concatenate(found), radii


SCALES = (256, 64, 16)
"""Radii: at each, balls around so many landmarks contain half of the universe."""
CANDIDATES = 8
"""Balls of a radius to select from, over that number of landmarks."""
PICKS = 6
LOOP_SHARE = PIECES_SHARE = Fraction(1, 10)
HASHES_SHARE = Fraction(1, 2)
"""Share of epsilon, and half of delta, for candidates in a box."""
NET = 64
LLOYD = 20
"""Public points that are additional candidates; steps of Lloyd's method on the released weights."""
FLOOR = 0.25
"""Least density of a point when parts are refined, as a share of the mean density."""

Centers = list[tuple[Ints, float]]
"""Selected balls, radius by radius: positions of their centers, and the radius."""


def moved_to_means(release: Release, question: Question) -> Floats:
    """Centers (k, d) among candidates in a box; for k-means moved to weighted means by Lloyd."""
    points = release.universe.points
    centers: Floats = points[on_weights(release, question)]
    if question.power == 1:
        return centers
    return converged(points, release.weights, centers, power=2, steps=LLOYD)


@dataclass(frozen=True, kw_only=True)
class MaxCoverage(Method):
    """Private selection of balls that cover the demand, then counts on a public partition that is
    finer there.

    **Privacy.** (epsilon, delta)-DP by the module's text; delta is spent on the selections. With
    delta 0 they share epsilon by basic composition: still private, but much less accurate.

    Parameters
    ----------
    picks : int, optional
        Balls selected for each radius: 6, or 2k·ln(2) among private candidates.
    net_dimensions : int
        Boxes of up to so many dimensions are answered on a public net; beyond, by the paper's
        Section 5.
    share : number, optional
        Share of epsilon for the selections: 1/10.

    References
    ----------
    M. Jones, H. L. Nguyen, T. D. Nguyen, "Differentially private clustering via maximum coverage",
    AAAI 2021.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> method = mdp.methods.MaxCoverage()
    >>> len(set(mdp.k_median(metric, demand, k=2, epsilon=4, method=method).centers))
    2
    """

    name = "max-coverage"
    chooses = (
        "The number of records is bought as a noisy count for 5 % of epsilon, unless it is public "
        "(replace-one) or guessed (records_hint). Balls are public; parts follow from the "
        "universe and from released counts; shares of epsilon are fixed constants."
    )
    afterwards = (
        "Posterior mean of the true counts given all noisy ones, spread over each part's public "
        "points; centers by a public solver."
    )
    in_space = True
    releases = True

    picks: int | None = None
    net_dimensions: int = 2
    share: Any = LOOP_SHARE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.picks is not None:
            count(self.picks, "picks")
        if not 0 < self._share < Fraction(4, 5):
            raise InputError(f"share must be between 0 and 0.8, got {shown(self.share)}")

    @property
    def _share(self) -> Fraction:
        return exact(self.share, "share")

    def composition(self, offer: Terms) -> Composition:
        """Both: the selections spend delta."""
        return "both"

    def least(self, terms: Terms, question: Any) -> Iterable[Ask]:
        """The number of records; refuses shares that leave nothing for the counts."""
        price = terms.price
        loop = price.epsilon * self._share
        loss = price.delta
        if self._takes_candidates(question):
            if price.delta:
                Cost.zcdp(price.epsilon * HASHES_SHARE, price.delta / 2)
            if self._share >= 1 - HASHES_SHARE:
                raise InputError(
                    f"share must be below {1 - HASHES_SHARE} in a box of more than "
                    f"{self.net_dimensions} dimensions, where {HASHES_SHARE} of epsilon finds "
                    f"candidates; got {shown(self.share)}"
                )
            loss = loss / 2
        exponent(Cost(loop, loss), 1, terms.neighboring, terms.max_contributions)
        return super().least(terms, question)

    def _takes_candidates(self, question: Any) -> bool:
        """Whether Section 5 answers: in a box of many dimensions, where a net is too coarse."""
        return bool(question.coarse(self.net_dimensions))

    def work(self, terms: Terms, question: Any) -> Steps:
        """The release; see the module's text for the steps and the guarantee."""
        if self._takes_candidates(question):
            return (yield from self._on_candidates(terms, question))
        metric = question.on_net().metric
        at = question.parts
        count = yield from count_records(terms, COUNT_SHARE, self.records_hint)
        balls = public_balls(metric, question.seed)
        stages = [(listed_balls(some), self.picks or PICKS) for some in balls]
        selected = yield Cover(CoverQuery(at(LabelParts.of(metric)), stages), self._share)
        first = first_covering([(sets, chosen) for (sets, _), chosen in zip(stages, selected)])
        pieces = LabelParts(metric, first, int(first.max()) + 1)
        counts = yield Ask(HistogramQuery(at(pieces)), PIECES_SHARE)
        # records a point of each piece, less one scale of noise
        above = np.maximum(counts.values - counts.receipt.mechanisms[0].scale, 0.0)
        density = (above / np.maximum(np.bincount(first, minlength=len(above)), 1))[first]
        density += FLOOR * max(count.number, 1.0) / len(metric)
        left = (yield Account()).left
        number = number_of_parts(count.number, terms.scale_of_counts(left))
        whole = hierarchy(metric, question.seed)
        refinement = Refinement(whole, [] if count.release is None else [count.release])
        tree = whole.cut(number, density)
        refinement.add(tree, (yield Ask(HistogramQuery(at(tree)), left)), many=False)
        centers = [(some.centers[chosen], some.radius) for some, chosen in zip(balls, selected)]
        receipt = (yield Account()).receipt
        return weights_release(metric, refinement.weights, receipt, centers, question.space)

    def _on_candidates(self, terms: Terms, question: BoxQuestion) -> Steps:
        space = question.space
        loss = terms.price.delta / 2
        half = terms.price.epsilon * HASHES_SHARE
        hashes = partial(private_candidates, space=space, seed=question.seed)
        points, scales = yield Within(Cost.zcdp(half, loss) if loss else Cost.of(half), hashes)
        public = space.net(max(NET, question.k), question.seed).points
        metric = EuclideanMetric(np.unique(np.concatenate([points, public]), axis=0))
        picks = self.picks or math.ceil(2 * question.k * math.log(2))
        balls = [Balls(metric, radius) for radius in sorted(scales)]
        query = CoverQuery(question.parts(LabelParts.of(metric)), [(some, picks) for some in balls])
        selected = yield Cover(query, self._share)
        weights = yield from counted_cells(question, metric, selected, (yield Account()).left)
        receipt = (yield Account()).receipt
        centers = [(chosen, some.radius) for some, chosen in zip(balls, selected)]
        return weights_release(metric, weights, receipt, centers, space, moved_to_means)


def weights_release(
    metric: Metric,
    weights: Floats,
    receipt: Receipt,
    centers: Centers,
    space: EuclideanSpace | None,
    search: Search = on_weights,
) -> Release:
    """The release of weights of a metric's points, which in a box are the candidates."""
    return Release(
        metric,
        weights,
        receipt,
        space=space,
        method="max-coverage",
        search=search,
        asks=None if space is None else PointsQuestion,
        centers=centers,
    )


def counted_cells(
    question: Any, metric: Metric, selected: list[Ints], share: Fraction
) -> Generator[Ask, Any, Floats]:
    """Release the counts of the selected points' Voronoi cells as weights of these (n_points,)."""
    at = np.unique(np.concatenate(selected))
    cells = LabelParts(metric, metric.nearest_to(at)[0], len(at))
    counts = yield Ask(HistogramQuery(question.parts(cells)), share)
    weights = np.zeros(len(metric))
    weights[at] = np.maximum(counts.values, 0)
    return weights


def public_balls(metric: Metric, seed: int) -> list[Balls]:
    """Balls around landmarks of the universe, of a few public radii, the smallest first."""
    at = landmarks(metric, seed=seed).positions
    n = len(metric)
    found = []
    for scale in [s for s in SCALES if 2 * s <= n] or [max(1, n // 4)]:
        radius = float(np.median(metric.nearest_to(at[:scale])[1]))
        found.append(Balls(metric, radius, at[: CANDIDATES * scale]))
    return found


def first_covering(stages: list[tuple[SetSystem, Ints]]) -> Ints:
    """Index of the first selected set that contains each element; their number where none does."""
    first = np.full(stages[0][0].n_elements, -1, np.int64)
    number = 0
    for sets, chosen in stages:
        for one in chosen:
            members = sets.members(int(one))
            first[members[first[members] < 0]] = number
            number += 1
    return np.where(first < 0, number, first)
