"""A private coreset by rounds, as Feldman, Xiang, Zhu & Rus print it (IPSN 2017, Algorithm 1,
PRIVATE-K-MEAN): the number of records, then in each round

1. GOOD-RADIUS: a selection of a radius by ``min(t - M(the radius before), M(radius) - t)``, where M
   is the count of the best ball and t = w + Delta; or RecConcave
   (`benchmarks.methods.rec_concave`).
2. GOOD-CENTER: a selection of the ball with most records; or, with ``center="projection"``,
   `benchmarks.methods.good_center`.
3. The w = 3n/(8k) records nearest its center are taken away; the center has weight w.

**Privacy.** Proof P9 (``docs/proofs/09-peeling.md``): neighbors stay neighbors when exactly w
records go, and w follows from k and n alone. *Replace-one*: n is public. *Add-remove*, or users of
several records: w and the number of rounds follow from a noisy n. *Composition*: with a delta every
selection costs epsilon²/8 of rho by its bounded range; else epsilons add up.

Differences from the paper: an exponential mechanism over a public grid's cells in place of
projection and averages; M in place of L, which halves the noise of radii.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks.methods.ball_counts import BallScores, radii_of
from benchmarks.methods.chunks import Chunks
from benchmarks.methods.good_center import GoodCenter, Prices, check_average, peeled
from benchmarks.methods.grid import Grid
from benchmarks.methods.peeling import Peeled, PeeledQuery, RadiusScores, Removed
from benchmarks.methods.rec_concave import (
    published_promise,
    rec_concave,
    records_needed,
    selections_of,
)
from benchmarks.methods.slabs import middles
from metricdp.arguments import Floats, chosen, integer, positive, shown
from metricdp.errors import InputError
from metricdp.methods.asking import (
    COUNT_SHARE,
    Account,
    Ask,
    Parts,
    Select,
    Steps,
    Terms,
    count_records,
)
from metricdp.methods.box.anywhere import anywhere, searched
from metricdp.methods.demand_release import Release
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import BoxQuestion
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.releases import Receipt
from metricdp.solvers.stopping import Deadline

RADII = ("exponential", "rec-concave")
CENTERS = ("exponential", "projection")
RADIUS_SHARE = Fraction(1, 5)
"""Of what the number of records leaves, for radii."""
LOSS = 0.5
"""Delta, in what a selection among the grid's cells may lose."""
MOST_CELLS = 1 << 22
MOST_RECORDS = 1 << 40
RESERVE = 64
"""Public points that answer where no round was possible."""
LEFT_OVER = 0.03
"""Rounds end when this fraction of the records is left."""
MOST_ROUNDS = 1000
"""Beyond, balls hold more than 3/(8k) of what is left."""


def sizes(records: int, k: int, left_over: float = LEFT_OVER) -> list[int]:
    """Records taken away in every round: 3/(8k) of those left, until `left_over` of all."""
    share = max(3 / (8 * k), -math.log(left_over) / MOST_ROUNDS)
    left = records
    found = list[int]()
    while left > left_over * records and (taken := math.floor(share * left)) > 0:
        found.append(taken)
        left -= taken
    return found


def release_of(space: EuclideanSpace, points: Floats, weights: Floats, receipt: Receipt) -> Release:
    """The release of the balls' centers and their numbers; a public net without a round."""
    if not len(points):
        points = space.net(RESERVE).points
        weights = np.zeros(RESERVE)
    distinct, place = np.unique(points, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights, len(distinct)).astype(np.float64)
    return Release(
        EuclideanMetric(distinct),
        total,
        receipt,
        space=space,
        method="coreset-printed",
        search=on_balls,
    )


@anywhere
def on_balls(release: Any, k: int, power: int, seed: int, deadline: Deadline) -> Floats:
    """k points of low cost: among a public net too, where there are more centers than balls."""
    points = release.universe.points
    weights = release.weights
    if k > len(points):
        points = np.concatenate([points, release.space.net(k).points])
        weights = np.r_[weights, np.zeros(k)]
    return searched(points, weights, k, power=power, seed=seed, deadline=deadline)


@dataclass(frozen=True, kw_only=True)
class PrintedCoreset(Method):
    """A private coreset by rounds of two selections each, and centers computed from it alone.

    **Privacy.** epsilon-DP; with a delta (epsilon, delta)-DP, but for chunks.

    Parameters
    ----------
    radius : {"exponential", "rec-concave"}
        How GOOD-RADIUS selects.
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
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> from benchmarks.methods.printed_coreset import PrintedCoreset
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=PrintedCoreset()).centers.shape
    (2, 2)
    """

    name = "coreset-printed"
    chooses = (
        "Radii are of public grids, and how many records each round takes away follows from k and "
        "a noisy (or public) number of records."
    )
    afterwards = "Centers by a public solver on the selected balls."
    in_finite = False
    in_space = True
    releases = True

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
        if self.images is not None and self.center != "projection":
            raise InputError("images is an option of center='projection': give that too")

    def composition(self, offer: Terms) -> Composition:
        """rho, but for chunks."""
        return "rho" if self.chunk is None else "epsilon"

    def least(self, terms: Terms, question: BoxQuestion) -> Iterable[Ask]:
        """The number of records; refuses averages too small for noise, or promises not kept."""
        if self.center == "projection":
            self._check_averages(terms, question)
        if self.radius == "rec-concave" and self.promise is None:
            price = terms.price
            if not price.delta:
                raise InputError(
                    "RecConcave's published promise needs a delta; or say what is promised: "
                    "promise="
                )
            needed = records_needed(
                question.k, float(price.epsilon), float(price.delta), question.space.dimension
            )
            if (self.records_hint or 0) < needed:
                raise InputError(
                    f"RecConcave with the published constants needs at least {needed:.3g} records "
                    f"at k = {question.k} and this epsilon: "
                    "use radius='exponential', or say what is promised (promise=), or that there "
                    "are as many (records_hint=)"
                )
        return super().least(terms, question)

    def _check_averages(self, terms: Terms, question: BoxQuestion) -> None:
        """Refuse an epsilon too small for as many averages as any number of records may need."""
        rounds = max(1, len(sizes(MOST_RECORDS, question.k, self.left_over)))
        share = (1 - COUNT_SHARE) * (1 - RADIUS_SHARE) / rounds
        m = terms.max_contributions
        relation = terms.neighboring
        if self.chunk is not None:
            share /= m * (1 if relation == "add-remove" else 2)
            relation = "add-remove"
        check_average(terms.price, share, question.space.dimension, relation, m)

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """The coreset."""
        space = question.space
        total = (yield from count_records(terms, COUNT_SHARE, self.records_hint)).number
        records = max(0, round(min(total, MOST_RECORDS)))
        left = (yield Account()).left
        n_parts = max(1, round(records / self.chunk)) if self.chunk else 1
        rounds = partial(self._rounds, records=records // n_parts, question=question)
        if n_parts == 1:
            found = [(yield from rounds(terms, left))]
        else:
            sides = 1 if terms.neighboring == "add-remove" else 2
            each = terms.price.epsilon * left / (terms.max_contributions * sides)
            works = [partial(rounds, left=Fraction(1))] * n_parts
            found = yield Parts(Chunks(space, n_parts), [each] * n_parts, works, "chunks")
        points = np.concatenate([np.empty((0, space.dimension)), *(at for at, _ in found)])
        weights = np.concatenate([np.empty(0), *(numbers for _, numbers in found)])
        return release_of(space, points, weights, (yield Account()).receipt)

    def _rounds(
        self, terms: Terms, left: Fraction, records: int, question: BoxQuestion
    ) -> Generator[Any, Any, tuple[Floats, list[int]]]:
        """Centers in turn, shape (n_rounds, d), and what each stands for."""
        space = question.space
        grid = Grid(space, self.cells or paper_cells(records, space.dimension))
        numbers = sizes(records, question.k, self.left_over)
        if not numbers:
            return np.empty((0, space.dimension)), []
        images = min(self.images or math.ceil(math.log(records + 2)), space.dimension)
        axes = space.dimension if images < space.dimension else 0
        share = left * (1 - RADIUS_SHARE)
        prices = Prices.of(share, len(numbers), axes)
        good = GoodCenter(grid, images, records, question.seed, prices)
        removed: list[tuple[int, int]] = []
        for number in numbers:
            radius = yield from self._radius(terms, left, grid, number, len(numbers), removed)
            if self.center == "exponential":
                balls = BallScores(grid.shape, radius)
                cell = balls.cell((yield peeled(grid, removed, balls, share / len(numbers))))
            else:
                cell = yield from good.next(radius, removed)
            removed.append((cell, number))
        if self.center == "exponential":
            return middles(grid, np.array([cell for cell, _ in removed], np.int64)), numbers
        return np.array(good.points), numbers

    def _radius(
        self, terms: Terms, left: Fraction, grid: Grid, number: int, rounds: int, removed: Removed
    ) -> Generator[Any, Any, int]:
        """GOOD-RADIUS, of one round."""
        concave = self.radius == "rec-concave"
        radii = tuple(range(max(grid.shape))) if concave else radii_of(grid.shape)
        times = selections_of(len(radii)) if concave else 1
        share = left * RADIUS_SHARE / (rounds * times)
        loses = terms.selection(left * (1 - RADIUS_SHARE) / rounds)
        scores = RadiusScores(grid.shape, radii, number + _slack(terms, grid, loses, number))
        if not concave:
            return int(radii[(yield peeled(grid, removed, scores, share))])
        delta = float(terms.price.delta) / (2 * rounds)
        each = float(terms.selection(share)) * times
        promise = self.promise or published_promise(len(radii), each, delta)
        quality = replace(scores, slack=math.ceil(promise), average=True)

        def asked(views: tuple[Any, ...]) -> Select:
            return peeled(grid, removed, replace(quality, views=views), share)

        return radii[(yield from rec_concave(asked, len(radii), math.ceil(promise / 2)))]


def _slack(terms: Terms, grid: Grid, epsilon: Fraction, number: int) -> int:
    """Delta: what the selection of a center may lose."""
    query = PeeledQuery(Peeled(grid), BallScores(grid.shape, 0))
    spread = query.range(terms.neighboring, terms.max_contributions)
    lost = LOSS * spread / float(epsilon) * math.log(max(grid.n_parts, 2))
    return min(number, math.ceil(lost))


def paper_cells(records: int, dimension: int) -> int:
    """The smallest power of two along each axis with more cells than records, if allowed."""
    bits = math.ceil(math.log2(records + 1) / dimension)
    while bits * dimension > MOST_CELLS.bit_length() - 1:
        bits -= 1
    found: int = 2 ** (bits * dimension)
    return found
