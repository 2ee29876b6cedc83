"""Published methods of private clustering in a box, with exact integer noise, for comparison: all
release noisy means of the parts of a public partition.

*Lloyd's method*: from random centers, a few steps by noisy counts and noisy sums. For k-median the
sum is of the records' *offsets from the center*, shortened to a radius that halves from step to
step: gradient descent on Huber's loss. Unlike in some published codes, the number of steps is
public, all coordinates are one query, and empty cells get noise.

*Locality-sensitive hashing* (Chang & Kamath 2021):

1. Build the prefix tree of a `SimHash` to a public depth: release the histogram of each level's
   leaves, and split those whose noisy count is large.
2. Release the count and the sum of every leaf. Their means, weighted by the counts, are a coreset.
3. Cluster the coreset.

Differences from Google's code: integer noise; every leaf is counted in each level; hashes cut
through the middle of the public box.

**Privacy.** All reads are histograms (`HistogramQuery`) and sums (`SumsQuery`) about parts that
public coins and earlier releases determine: cells of centers that were released before, 2T in T
steps; leaves of a tree, in which every record is once a level. Their shares add up to at most 1: of
rho, with discrete Gaussian noise, where there is a delta; else of epsilon, with discrete Laplace
noise. So zCDP or sequential composition applies.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from metricdp.accounting.cost import MIN_EPSILON
from metricdp.arguments import Bools, Floats, count, positive
from metricdp.errors import InputError
from metricdp.methods.asking import Account, Ask, Steps, Terms, clipped_sums, deviation
from metricdp.methods.box.descent import MOST_STEPS, distinct_in
from metricdp.methods.demand_release import Release
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import BoxQuestion, Result
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.cells import VoronoiCells, WholeBox
from metricdp.partitions.box.simhash import HashCells, SimHash
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Receipt
from metricdp.releases import Release as Noisy

COUNTS_SHARE = Fraction(1, 4)
"""Share of the counts in the budget of averages; the rest is for the sums."""


class Averages(NamedTuple):
    """Noisy counts (n_parts,) and means (n_parts, d) of parts, and which counts exceed both one
    standard deviation of noise and 1.
    """

    counts: Floats
    means: Floats
    above_noise: Bools

    def at(self, kept: Bools) -> Averages:
        """The averages of some parts."""
        return Averages(self.counts[kept], self.means[kept], self.above_noise[kept])


def averages(
    space: EuclideanSpace,
    query: HistogramQuery,
    count_share: Fraction,
    sum_share: Fraction,
    radius: float,
    around: Any = None,
) -> Generator[Ask, Noisy, Averages]:
    """Noisy means of all parts: noisy sums of the records' offsets over noisy counts."""
    counted = yield Ask(query, count_share)
    sums = clipped_sums(query.partition, around, np.full(query.n_parts, radius))
    summed = yield Ask(sums, sum_share)
    counts = counted.values.astype(float)
    above_noise = counts > max(deviation(counted), 1.0)
    offset = summed.values.reshape(-1, space.dimension) * sums.steps[:, None]
    offset /= np.where(above_noise, counts, 1.0)[:, None]
    means = space.clip(sums.centers + np.where(above_noise[:, None], offset, 0.0))
    return Averages(counts, means, above_noise)


@dataclass(frozen=True, kw_only=True)
class Baseline(Method):
    """A method for demand in a box whose budget is spent in shares.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP:
    `metricdp.methods.baselines`.

    Parameters
    ----------
    radius : float, optional
        A public bound of the records' distances from the middle of the box: by default half its
        diagonal. Records outside are moved onto that ball.
    """

    in_finite = False
    in_space = True

    radius: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None:
            positive(self.radius, "radius")

    @property
    def least_share(self) -> Fraction:
        """The smallest share of the budget of a read."""
        return Fraction(1, 4)

    def reach(self, space: EuclideanSpace) -> float:
        """The clipping radius: at most half the box's diagonal."""
        half = space.diameter_bound() / 2
        return half if self.radius is None else min(float(self.radius), half)

    def composition(self, offer: Terms) -> Composition:
        """rho: every share is paid in it."""
        return "rho"

    def least(self, terms: Terms, question: Any) -> Iterable[Ask]:
        """Sums for the smallest share."""
        if not terms.in_rho and terms.price.epsilon * self.least_share < MIN_EPSILON:
            raise InputError(
                f"epsilon must be at least {float(MIN_EPSILON / self.least_share):g} for the "
                f"method {self.name}"
            )
        return [Ask(clipped_sums(WholeBox(question.space)), self.least_share)]


def release_of(
    method: str, partition: Any, found: Averages, receipt: Receipt, search: Any = None
) -> Release:
    """The release of noisy means, weighted by noisy counts."""
    return Release(
        EuclideanMetric(found.means),
        np.maximum(found.counts, 0.0),
        receipt,
        space=partition.universe,
        method=method,
        partition=partition,
        search=search,
    )


RHO = 0.225
"""Su et al.'s typical distance of a mean from the middle, in half sides: it sets the counts' share.
"""
SMALLEST = 4
"""k-median: the radius is halved in each step, down to a 2^-4 of the first."""


@dataclass(frozen=True, kw_only=True)
class Lloyd(Baseline):
    """Noisy steps of Lloyd's method from random centers.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP, by the module's text.

    Parameters
    ----------
    steps : int
        T, 1 to 100 (7 in the experiments of Cohen-Addad et al., KDD 2022).

    References
    ----------
    A. Blum, C. Dwork, F. McSherry, K. Nissim, "Practical privacy: the SuLQ framework", PODS 2005.
    D. Su, J. Cao, N. Li, E. Bertino, H. Jin, "Differentially private k-means clustering", CODASPY
    2016 (DPLloyd; the shares, Section 4).

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.25, 0.75]] * 50_000)
    >>> center = mdp.k_means(space, demand, 1, epsilon=5, method="lloyd").centers[0]
    >>> bool(abs(center - [0.25, 0.75]).max() < 0.1)
    True
    """

    name = "lloyd"
    chooses = (
        "First centers are public coins; the number of steps, clipping radii and shares are "
        "public options."
    )
    afterwards = "Centers are quotients of noisy sums and noisy counts, clipped to the box."

    steps: int = 7

    def __post_init__(self) -> None:
        super().__post_init__()
        count(self.steps, "steps", 1, MOST_STEPS)

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """Centers after the last step."""
        space = question.space
        coins = np.random.default_rng([question.seed, 5]).random((question.k, space.dimension))
        centers = space.lower + coins * (space.upper - space.lower)
        counts = count_share(space.dimension)
        each = Fraction(1, self.steps)
        for step in range(self.steps):
            query = HistogramQuery(VoronoiCells(space, centers))
            radius = self.reach(space)
            around = None
            if question.power == 1:
                radius = 2 * radius / 2.0 ** min(step, SMALLEST)
                around = centers
            found = yield from averages(
                space, query, each * counts, each * (1 - counts), radius, around
            )
            centers = np.where(found.above_noise[:, None], found.means, centers)
        receipt = (yield Account()).receipt
        return Result(distinct_in(space, centers), question.k, self.name, receipt)

    @property
    def least_share(self) -> Fraction:
        """The share of a step's counts, in many dimensions."""
        return Fraction(1, 100 * self.steps)


def count_share(d: int) -> Fraction:
    """The counts' share of a step, by Su et al.: (4dρ²)^(1/3) to d for the sums; at least 1/100."""
    part = (4 * d * RHO**2) ** (1 / 3)
    return Fraction(max(round(100 * part / (d + part)), 1), 100)


LEVELS_SHARE = Fraction(1, 2)
"""Share of the budget for all levels of the tree together."""
MOST_BITS = 24
LOW_NOISE = 10
BRANCHING = 3
"""Least count of a node of the coreset over the noise of its sum; over that, of a node to split."""


@dataclass(frozen=True, kw_only=True)
class LSHCoreset(Baseline):
    """Noisy means of the leaves of a tree of hash prefixes, and a public solver on them.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP, by the module's text.

    Parameters
    ----------
    depth : int
        Most bits of a prefix, 1 to 24 (20 in Google's code).

    References
    ----------
    A. Chang, P. Kamath, "Practical differentially private clustering", Google AI blog, October
    2021. A. Chang, B. Ghazi, R. Kumar, P. Manurangsi, "Locally private k-means in one round", ICML
    2021, Section 5.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> method = mdp.methods.LSHCoreset()
    >>> mdp.k_means(space, demand, k=2, epsilon=4, delta=1e-6, method=method).centers.shape
    (2, 2)
    """

    name = "lsh"
    chooses = (
        "Hash functions are public coins; the number of records is bought as a noisy count for 5 "
        "% of epsilon, unless it is public (replace-one) or guessed (records_hint). Which nodes "
        "are split follows from released counts."
    )
    afterwards = (
        "Means of the nodes above the noise threshold are weighted points; centers by a public "
        "solver on them."
    )
    releases = True

    depth: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        count(self.depth, "depth", 1, MOST_BITS)

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """The coreset."""
        space = question.space
        hashed = SimHash(space, self.depth, question.seed)
        cells, fewest = yield from self._tree(terms, hashed, question.k)
        left = (yield Account()).left
        counts = left * COUNTS_SHARE
        found = yield from averages(
            space, HistogramQuery(cells), counts, left - counts, self.reach(space)
        )
        kept = found.counts >= fewest
        kept[int(np.argmax(found.counts))] = True
        return release_of(self.name, cells, found.at(kept), (yield Account()).receipt)

    def _tree(
        self, terms: Terms, hashed: SimHash, k: int
    ) -> Generator[Ask, Noisy, tuple[HashCells, float]]:
        """Step 1: the leaves, and the least count of a node in the coreset."""
        cells = HashCells.whole(hashed)
        fewest = 1.0
        for level in range(self.depth):
            counted = yield Ask(HistogramQuery(cells), LEVELS_SHARE / self.depth)
            counts = counted.values.astype(float)
            if level == 0:
                noise = terms.deviation_of_sums(hashed.space, LEVELS_SHARE * (1 - COUNTS_SHARE))
                low_noise = LOW_NOISE * math.sqrt(hashed.space.dimension) * noise
                hint = self.records_hint
                total = float(counts[0]) if hint is None else float(hint) * terms.weight_units
                fewest = max(1.0, min(low_noise, total / (2 * k)), deviation(counted))
            at = cells.leaves[(counts >= BRANCHING * fewest) & (cells.level[cells.leaves] == level)]
            if len(at) == 0:
                break
            cells = cells.split(at)
        return cells, fewest

    @property
    def least_share(self) -> Fraction:
        """The share of a level's counts."""
        return LEVELS_SHARE * COUNTS_SHARE / self.depth
