"""Private coresets of demand in a box: weighted points that may be published, for any number of
questions about centers.

**The default** releases one noisy histogram (or, beyond three dimensions, noisy counts and means
around candidates) with the whole budget, by the default method's own steps 1 to 3
(`metricdp.methods.box.default`), and answers from it. Its coreset holds all that was counted:
cells that do not stand out of the noise one by one are told by large blocks (`WholeRelease`).
`DemandRelease.coreset` with a number of centers makes it as small as the paper's by the paper's
rounds, run on what is released: free.

**Published** (Feldman, Xiang, Zhu & Rus, IPSN 2017, Algorithm 1, PRIVATE-K-MEAN). The number of
records, then in each round two selections:

1. GOOD-RADIUS: among radii of cells, ``min(t - M(the radius before), M(radius) - t)`` with t = w +
   Delta, M the count of the best ball; or RecConcave on the paper's quality
   (`metricdp.methods.box.rec_concave`).
2. GOOD-CENTER: the ball with most records; or, with ``center="projection"``, the algorithm of
   Nissim, Stemmer & Vadhan (`metricdp.methods.box.good_center`).
3. The w = 3n/(8k) records nearest its center are taken away; the center stands in the coreset with
   weight w.

**Privacy.** *Neighboring*, unit: the grant's and the demand's. In step 3 private records leave, and
which ones depends on private data: that is safe since the numbers w follow from k and n alone, and
neighbors stay neighbors when exactly w records go (`metricdp.records.sums.peeling` has the proof
that the paper leaves out; removing all records within a radius measured on the data would not be
safe). *Replace-one*, records: n is public, released exactly at no cost; the paper's algorithm as it
is. *Add-remove*, or users of several records: n is private, so w and the number of rounds follow
from a noisy n; the paper's own would tell n. *Composition*: with a delta the grant counts rho, and
every selection costs epsilon²/8 by its bounded range; without, epsilons add up. Everything else is
post-processing.

Where it departs from the paper: GOOD-CENTER there projects, draws boxes and averages (Nissim,
Stemmer & Vadhan 2016); with a public grid of few dimensions the exponential mechanism over its
cells does it, and better (`benchmarks/coreset.md`): the other is an option. M in place of L halves
the noise of radii. Delta is half of what the selection of a center may lose, at most w.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost, Grant, Pool
from metricdp.arguments import chosen, flag, integer, positive, shown
from metricdp.errors import InputError
from metricdp.methods.box.box_release import Array, BoxRelease, searched
from metricdp.methods.box.good_center import GoodCenter, Prices, check_average
from metricdp.methods.box.grid_release import GridRelease
from metricdp.methods.box.rec_concave import (
    published_promise,
    rec_concave,
    records_needed,
    selections_of,
)
from metricdp.methods.box.small_ball import LEFT_OVER, Removed, best_ball, sizes, small_balls
from metricdp.methods.method import Method
from metricdp.methods.question import BoxQuestion
from metricdp.methods.result import Result
from metricdp.methods.shares import COUNT_SHARE, Allowance, check_counts, deviation
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.chunks import Chunks
from metricdp.partitions.box.grid import Grid
from metricdp.partitions.box.slabs import middles
from metricdp.privacy import PrivateDemand, measure, select, selection_epsilon, split
from metricdp.privacy.balls import PeeledQuery, PeeledSums
from metricdp.records.sums.peeling import BallScores, Peeled, RadiusScores, radii_of
from metricdp.releases import Neighboring, Receipt
from metricdp.solvers.stopping import Deadline

RADII = ("exponential", "rec-concave")
CENTERS = ("exponential", "projection")
ROUNDS = ("radius", "center", "images", "promise", "cells", "left_over", "chunk")
"""Options of the published rounds."""
RADIUS_SHARE = Fraction(1, 5)
"""Of what the number of records leaves, for radii."""
LOSS = 0.5
"""Delta, in what a selection among the grid's cells may lose."""
MOST_CELLS = 1 << 22
MOST_RECORDS = 1 << 40
BLOCKS = 64
"""Into which what does not stand out is summed."""
RESERVE = 64
"""Public points that answer where no round was possible."""


class CoresetRelease(BoxRelease):
    """The balls' centers and how many records each stands for.

    Attributes
    ----------
    space : EuclideanSpace
    universe : EuclideanMetric
        The centers; a public net where there was no round.
    weights : ndarray of float64, shape (n_points,), read-only
    receipt : Receipt
        What it cost.
    """

    method = "coreset"

    def __init__(
        self, space: EuclideanSpace, points: Array, weights: Array, receipt: Receipt
    ) -> None:
        if not len(points):
            points = space.net(RESERVE).points
            weights = np.zeros(RESERVE)
        distinct, place = np.unique(points, axis=0, return_inverse=True)
        total = np.bincount(place.ravel(), weights, len(distinct)).astype(np.float64)
        super().__init__(space, EuclideanMetric(distinct), total, receipt)

    def __repr__(self) -> str:
        return (
            f"CoresetRelease({self.space.name}, {len(self.weights):,} points, epsilon "
            f"{float(self.receipt.epsilon):g})"
        )

    def _found(self, k: int, power: int, seed: int, deadline: Deadline) -> Array:
        points = self.universe.points
        weights = self.weights
        if k > len(points):
            points = np.concatenate([points, self.space.net(k).points])
            weights = np.r_[weights, np.zeros(k)]
        return searched(points, weights, k, power=power, seed=seed, deadline=deadline)


class WholeRelease(BoxRelease):
    """A release of a box's cells for publication: whole, where `GridRelease` leaves out cells that
    do not stand out of the noise.

    Lone records in such cells are few, but far away, and cost much. Their noisy counts are summed
    over large blocks. Sums above a standard deviation of their noise are scaled to the signed total
    of all, and spread over each block's cells. Centers are found without them.

    Attributes
    ----------
    space : EuclideanSpace
    universe : EuclideanMetric
        Middles of the grid's cells.
    weights : ndarray of float64, shape (n_points,), read-only
    standing : GridRelease
        The release without the rest.
    receipt : Receipt
        What it cost.
    """

    method = "coreset"

    def __init__(self, standing: GridRelease) -> None:
        self.standing = standing
        self.histogram = standing.histogram
        weights = standing.weights.copy()
        rest = np.flatnonzero(~standing.standing)
        blocks = Grid(standing.space, BLOCKS)
        block = blocks.encode(standing.universe.points[rest])
        counts = standing.histogram.values[rest].astype(np.float64)
        sums = np.bincount(block, counts, blocks.n_parts)
        extent = np.bincount(block, minlength=blocks.n_parts)
        sums[sums <= deviation(standing.histogram) * np.sqrt(extent)] = 0.0
        if sums.sum() > 0:
            sums *= max(float(counts.sum()), 0.0) / sums.sum()
        weights[rest] = (sums / extent.clip(1))[block]
        super().__init__(standing.space, standing.universe, weights, standing.receipt)

    def __repr__(self) -> str:
        return (
            f"WholeRelease({self.space.name}, {len(self.weights):,} cells, epsilon "
            f"{float(self.receipt.epsilon):g})"
        )

    def _found(self, k: int, power: int, seed: int, deadline: Deadline) -> Array:
        return self.standing._found(k, power, seed, deadline)


@dataclass(frozen=True, kw_only=True)
class Coreset(Method):
    """A private coreset, and centers computed from it alone.

    **Privacy.** epsilon-DP; with a delta (epsilon, delta)-DP where that is of use: `published`, or
    more than three dimensions.

    Parameters
    ----------
    published : bool
        The paper's rounds, two selections each, in place of one noisy histogram.
    radius : {"exponential", "rec-concave"}
        Of `published`, as are all others: how GOOD-RADIUS selects.
    center : {"exponential", "projection"}
        How GOOD-CENTER finds a ball: by the exponential mechanism over the grid's cells, or by a
        random projection, boxes and a noisy average.
    images : int, optional
        Of ``center="projection"``: dimensions of the projection, by default the natural logarithm
        of the number of records, rounded up; at most those of the box.
    promise : float, optional
        RecConcave's Gamma, in records. By default the paper's, which no demand of less than some
        10^9 records keeps: it is refused unless `records_hint` says that there are as many.
    cells : int, optional
        Cells of the grid: by default the paper's, the smallest power of two along each axis that
        makes more cells than there are records.
    left_over : float
        Rounds end when this fraction of the records is left; what is left is in no ball.
    chunk : int, optional
        Split the records into parts of about so many, each with rounds and a coreset of its own;
        the union is the coreset. The paper's way for more than two dimensions is 10,000: it bounded
        the time there. Costs much accuracy. Spends no delta.

    References
    ----------
    D. Feldman, C. Xiang, R. Zhu, D. Rus, "Coresets for differentially private k-means clustering
    and applications to privacy in mobile sensor networks", IPSN 2017. K. Nissim, U. Stemmer, S.
    Vadhan, "Locating a small cluster privately", PODS 2016.

    Examples
    --------
    >>> import metricdp as mdp
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=mdp.methods.Coreset()).centers.shape
    (2, 2)
    """

    name = "coreset"
    chooses = (
        "As the default method of the box; with published=True, radii are of public grids, and "
        "how many records each round takes away follows from k and a noisy (or public) number of "
        "records."
    )
    afterwards = (
        "Noisy counts of cells become weighted points, those that do not stand out told by larger "
        "blocks; centers by a public solver on them."
    )
    in_finite = False
    in_space = True
    releases = True

    published: bool = False
    radius: str = "exponential"
    center: str = "exponential"
    images: int | None = None
    promise: float | None = None
    cells: int | None = None
    left_over: float = LEFT_OVER
    chunk: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen(self.radius, RADII, "radius")
        chosen(self.center, CENTERS, "center")
        if self.promise is not None and not positive(self.promise, "promise") <= 2**40:
            raise InputError(f"promise must be at most 2^40 records, got {shown(self.promise)}")
        limits = (("cells", 1, MOST_CELLS), ("chunk", 10, 2**40), ("images", 1, 2**40))
        for name, least, most in limits:
            value = getattr(self, name)
            if value is not None and not least <= (integer(value) or 0) <= most:
                raise InputError(
                    f"{name} must be an integer from {least:,} to {most:,}, got {shown(value)}"
                )
        if not positive(self.left_over, "left_over") < 1:
            raise InputError(f"left_over must be between 0 and 1, got {shown(self.left_over)}")
        fields = type(self).__dataclass_fields__
        given = [name for name in ROUNDS if getattr(self, name) != fields[name].default]
        if not flag(self.published, "published") and given:
            raise InputError(
                f"{', '.join(ROUNDS[:-1])} and {ROUNDS[-1]} are options of the published rounds: "
                "give published=True too"
            )
        if self.images is not None and self.center != "projection":
            raise InputError("images is an option of center='projection': give that too")

    def price(self, epsilon: Any, delta: Any, terms: Any = None) -> Cost:
        """Both, as rho, where there is a delta."""
        cost = Cost.of(epsilon, delta)
        pooled = cost.delta and cost.epsilon > 0 and self.chunk is None
        return Cost.zcdp(cost.epsilon, cost.delta) if pooled else Cost.of(cost.epsilon)

    def check(
        self, demand: PrivateDemand, question: BoxQuestion, price: Cost, neighboring: Neighboring
    ) -> None:
        """Refuse an epsilon too small for the noise, and RecConcave's own promise where it cannot
        be kept.
        """
        check_counts(demand, price, COUNT_SHARE, neighboring)
        if self.center == "projection":
            self._check_averages(demand, question, price, neighboring)
        if self.radius == "rec-concave" and self.promise is None:
            space: Any = demand.universe
            if not price.delta:
                raise InputError(
                    "RecConcave's published promise needs a delta; or say what is promised: "
                    "promise="
                )
            needed = records_needed(
                question.k, float(price.epsilon), float(price.delta), space.dimension
            )
            if (self.records_hint or 0) < needed:
                raise InputError(
                    f"RecConcave with the published constants needs at least {needed:.3g} records "
                    f"at k = {question.k} and this epsilon: "
                    "use radius='exponential', or say what is promised (promise=), or that there "
                    "are as many (records_hint=)"
                )

    def _check_averages(
        self, demand: PrivateDemand, question: BoxQuestion, price: Cost, neighboring: Neighboring
    ) -> None:
        """Refuse an epsilon too small for as many averages as any number of records may need."""
        rounds = max(1, len(sizes(MOST_RECORDS, question.k, self.left_over)))
        share = (1 - COUNT_SHARE) * (1 - RADIUS_SHARE) / rounds
        m = demand.max_contributions
        if self.chunk is not None:
            share /= m * (1 if neighboring == "add-remove" else 2)
            neighboring = "add-remove"
        check_average(price, share, question.space.dimension, neighboring, m)

    def answer(self, demand: PrivateDemand, grant: Grant, question: BoxQuestion) -> Result:
        """Centers, and the coreset they were computed from."""
        space: Any = demand.universe
        allowance = Allowance(demand, grant)
        total = allowance.records(COUNT_SHARE, self.records_hint).number
        receipts = list(allowance.receipts)
        records = max(0, round(min(total, MOST_RECORDS)))
        left = grant.left
        parts = [(demand, grant)]
        n_parts = max(1, round(records / self.chunk)) if self.chunk else 1
        if n_parts > 1:
            each = left / (
                demand.max_contributions * (1 if grant.neighboring == "add-remove" else 2)
            )
            parts = split(demand, Chunks(space, n_parts), each, grant, "chunks")
        points = [np.empty((0, space.dimension))]
        weights = [np.empty(0)]
        spent = list[Receipt]()
        for part, budget in parts:
            found, numbers, paid = self._rounds(part, budget, records // n_parts, question)
            points.append(found)
            weights.append(np.array(numbers, np.float64))
            spent += paid
        receipts += [together(spent, demand, grant, left)] if n_parts > 1 else spent
        empty = Receipt.of([], grant.neighboring, demand.unit, demand.grains)
        receipt = grant.receipt([empty, *receipts]) if receipts else empty
        release = CoresetRelease(space, np.concatenate(points), np.concatenate(weights), receipt)
        return release.answer(question)

    def _rounds(
        self, demand: PrivateDemand, grant: Grant, records: int, question: BoxQuestion
    ) -> tuple[Array, list[int], list[Receipt]]:
        """Centers in turn, shape (n_rounds, d), what each stands for, and what they cost."""
        space: Any = demand.universe
        grid = Grid(space, self.cells or paper_cells(records, space.dimension))
        numbers = sizes(records, question.k, self.left_over)
        if not numbers:
            return np.empty((0, space.dimension)), [], []
        asked = Rounds(demand, grant, grid, numbers)
        radius = self._radius(asked)
        if self.center == "exponential":
            each = share_of(grant, 1 - RADIUS_SHARE, len(numbers))
            center = best_ball(grid, lambda balls, removed: asked.select(balls, removed, each))
            removed = small_balls(numbers, radius, center)
            found = middles(grid, np.array([cell for cell, _ in removed], np.int64))
            return found, numbers, asked.receipts
        images = min(self.images or math.ceil(math.log(records + 2)), space.dimension)
        axes = space.dimension if images < space.dimension else 0
        prices = Prices.of(grant, 1 - RADIUS_SHARE, len(numbers), axes)
        good = GoodCenter(grid, images, records, question.seed, prices, asked.select, asked.measure)
        small_balls(numbers, radius, good)
        return np.array(good.points), numbers, asked.receipts

    def _radius(self, asked: Rounds) -> Callable[[int, Removed], int]:
        """GOOD-RADIUS."""
        grid = asked.grid
        grant = asked.grant
        rounds = len(asked.numbers)
        concave = self.radius == "rec-concave"
        radii = tuple(range(max(grid.shape))) if concave else radii_of(grid.shape)
        times = selections_of(len(radii)) if concave else 1
        each = share_of(grant, RADIUS_SHARE, rounds * times)
        loses = share_of(grant, 1 - RADIUS_SHARE, rounds)
        delta = float(grant.delta) / (2 * rounds)

        def radius(number: int, removed: Removed) -> int:
            target = number + self._slack(asked.demand, grant, grid, loses, number)
            scores = RadiusScores(grid.shape, radii, target)
            if not concave:
                return radii[asked.select(scores, removed, each)]
            promise = self.promise or published_promise(len(radii), float(each) * times, delta)
            quality = replace(scores, slack=math.ceil(promise), average=True)

            def choose(views: tuple[Any, ...]) -> int:
                return asked.select(replace(quality, views=views), removed, each)

            return radii[rec_concave(choose, len(radii), math.ceil(promise / 2))]

        return radius

    @staticmethod
    def _slack(
        demand: PrivateDemand, grant: Grant, grid: Grid, epsilon: Fraction, number: int
    ) -> int:
        """Delta: what the selection of a center may lose."""
        query = PeeledQuery(Peeled(grid), BallScores(grid.shape, 0))
        spread = query.range(grant.neighboring, demand.max_contributions)
        return min(
            number, math.ceil(LOSS * spread / float(epsilon) * math.log(max(grid.n_parts, 2)))
        )


@dataclass(frozen=True, kw_only=True)
class ReleasedCoreset(Method):
    """The default: the whole budget for a release of the default method in a box, and centers
    computed from it.

    **Privacy.** The release's: `metricdp.methods.box.default`.
    """

    name = "coreset"
    chooses = Coreset.chooses
    afterwards = Coreset.afterwards
    in_finite = False
    in_space = True
    releases = True

    source: Any

    def price(self, epsilon: Any, delta: Any, terms: Any = None) -> Cost:
        """As the release."""
        return self.source.price(epsilon, delta)

    def check(
        self, demand: PrivateDemand, question: BoxQuestion, price: Cost, neighboring: Neighboring
    ) -> None:
        """As the release."""
        self.source.check(demand, question, price, neighboring)

    def answer(self, demand: PrivateDemand, grant: Grant, question: BoxQuestion) -> Result:
        """Centers, and the coreset they were computed from."""
        release = self.source.release(demand, grant, question.seed)
        whole = WholeRelease(release) if isinstance(release, GridRelease) else release
        return replace(whole.answer(question), method=self.name)


@dataclass
class Rounds:
    """What the rounds ask of the gate, and the receipts."""

    demand: PrivateDemand
    grant: Grant
    grid: Grid
    numbers: list[int]
    receipts: list[Receipt] = field(default_factory=list)

    def select(self, scores: Any, removed: Removed, epsilon: Fraction) -> int:
        """The number of a candidate, by scores of what is left."""
        query = PeeledQuery(Peeled(self.grid, tuple(removed)), scores)
        index, receipt = select(self.demand, query, epsilon, self.grant)
        self.receipts.append(receipt)
        return index

    def measure(self, query: PeeledSums, price: Any) -> NDArray[np.int64]:
        """Noisy values of a query about what is left."""
        release = measure(self.demand, query, price, self.grant)
        self.receipts.append(release.receipt)
        return release.values


def together(
    receipts: list[Receipt], demand: PrivateDemand, grant: Grant, epsilon: Fraction
) -> Receipt:
    """Receipt of mechanisms on the parts of a split demand, which cost together what `split` was
    charged.
    """
    receipt = Receipt.of(
        [m for each in receipts for m in each.mechanisms], grant.neighboring, demand.unit
    )
    return receipt.paid(epsilon, Fraction(0), "parallel composition of chunks")


def share_of(grant: Grant, share: Fraction, times: int) -> Fraction:
    """Epsilon of each of so many selections that have a share of what is left of the grant."""
    if not isinstance(grant, Pool):
        return grant.left * share / times
    budget = Cost.zcdp(grant.epsilon, grant.delta)
    return selection_epsilon(replace(budget, rho=(grant.rho - grant.spent_rho) * share), times)


def paper_cells(records: int, dimension: int) -> int:
    """The smallest power of two along each axis that makes more cells than there are records,
    within `MOST_CELLS`.
    """
    bits = math.ceil(math.log2(records + 1) / dimension)
    while bits * dimension > MOST_CELLS.bit_length() - 1:
        bits -= 1
    return 2 ** (bits * dimension)
