"""Private candidates by projection and grids, private local search on them, private means (Balcan
et al., ICML 2017).

1. Project the box onto a few random directions, by public coins.
2. *Candidates*: a few times, split shifted cells of the projected box where their noisy count is
   large. The middles of all split cells, and a few public points, are the candidates.
3. *Local search*: move every record to the nearest candidate, and swap centers for candidates a
   number of times, drawn by cost; then draw one of the sets visited (Gupta et al., SODA 2010).
4. *Recovery*: the noisy means, in the box, of each center's records.

**Privacy.** Each level of each grid is one histogram of cells that earlier counts split. Step 3 is
`metricdp.methods.finite.local_search` after a stable transformation. Step 4 is one histogram and
one query of sums. Each has a third of the budget (`metricdp.methods.baselines`).

Differences from the paper: a public depth and number of grids; shifted-quadtree cells; few swaps,
each with more budget; the search sees records at their nearest candidate.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from metricdp.arguments import Floats, integer, shown
from metricdp.errors import InputError
from metricdp.methods.asking import Account, Ask, Image, Steps, Terms, Within, deviation
from metricdp.methods.baselines import COUNTS_SHARE, Baseline, averages
from metricdp.methods.box.descent import distinct_in
from metricdp.methods.finite.local_search import LocalSearch
from metricdp.methods.question import BoxQuestion, Question, Result
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.cells import PartsOfImages, VoronoiCells
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Release

THIRD = Fraction(1, 3)
GRIDS = 2
LEVELS = 8
STANDS_OUT = 4.0
"""A cell is divided if its noisy count exceeds so many standard deviations of its noise."""
PUBLIC = 16
MOST = 2048
"""Public candidates beside k, and most candidates in all, those of the largest counts."""


class Projection:
    """A box along a few random orthogonal directions, stretched by √(d/p). The `image` is a cube as
    wide as the box's diagonal; what lies outside is clipped.
    """

    def __init__(self, space: EuclideanSpace, dimensions: int, seed: int) -> None:
        self.space, half = space, space.diameter_bound() / 2
        directions = np.linalg.qr(
            np.random.default_rng([seed, 31]).normal(size=(space.dimension, dimensions))
        )[0]
        self._directions = (
            directions * math.sqrt(space.dimension / dimensions)
            if dimensions < space.dimension
            else np.eye(dimensions)
        )
        self._middle = (space.lower + space.upper) / 2
        self.image = EuclideanSpace([-half] * dimensions, [half] * dimensions)

    def __call__(self, points: Floats) -> Floats:
        """Images, shape (n, p): each of its own point alone, summed in order."""
        place = np.zeros((len(points), self.image.dimension))
        for x, middle, direction in zip(points.T, self._middle, self._directions):
            place += (x - middle)[:, None] * direction
        return self.image.clip(place)


@dataclass(frozen=True, kw_only=True)
class Balcan(Baseline):
    """Candidates by projection and grids, private local search on them, noisy means.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP, by the module's text.

    Parameters
    ----------
    dimensions : int, optional
        Of the projection; by default 1 + log2 k, rounded up, at least 2. The box itself if it has
        no more.
    swaps : int, optional
        Of the local search, one for each center by default.

    References
    ----------
    M.-F. Balcan, T. Dick, Y. Liang, W. Mou, H. Zhang, "Differentially private clustering in
    high-dimensional Euclidean spaces", ICML 2017.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> from benchmarks.methods.balcan import Balcan
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=Balcan()).centers.shape
    (2, 2)
    """

    name = "balcan"
    chooses = (
        "Projections and grids are public coins; candidates follow from released counts; steps "
        "and shares are fixed."
    )
    afterwards = "None beyond the selections and noisy averages themselves."

    dimensions: int | None = None
    swaps: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dimensions", "swaps"):
            if (value := getattr(self, name)) is not None and not 1 <= (
                integer(value) or 0
            ) <= 1000:
                raise InputError(f"{name} must be an integer from 1 to 1000, got {shown(value)}")

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """Centers."""
        space = question.space
        k = question.k
        dimensions = self.dimensions or max(2, math.ceil(math.log2(k)) + 1)
        projection = Projection(space, min(dimensions, space.dimension), question.seed)
        metric = EuclideanMetric((yield from _candidates(projection, k, question.seed)))
        parts = VoronoiCells(projection.image, metric.points)
        elsewhere = Question.checked(
            metric, k, question.power, seed=question.seed, time_limit=question.time_limit
        )
        nearest = Image(space).moved(PartsOfImages(projection.space, projection, parts), metric)
        search = LocalSearch(steps=self.swaps or k, start="k-median++")
        work = partial(search.work, question=elsewhere)
        found = yield Within(terms.cost(THIRD), work, nearest)
        chosen = VoronoiCells(projection.image, metric.points[metric.positions(found.centers)])
        query = HistogramQuery(PartsOfImages(projection.space, projection, chosen))
        left = (yield Account()).left
        counts = left * COUNTS_SHARE
        means = (yield from averages(space, query, counts, left - counts, self.reach(space))).means
        return Result(distinct_in(space, means), k, self.name, (yield Account()).receipt)

    @property
    def least_share(self) -> Fraction:
        """Of a level of a grid; of the last counts."""
        return THIRD / (GRIDS * LEVELS)


def _candidates(projection: Projection, k: int, seed: int) -> Generator[Ask, Release, Floats]:
    """Step 2, shape (n_candidates, p): all different."""
    p = projection.image.dimension
    image = projection.image
    points = [image.net(k + PUBLIC, seed).points]
    counts = [np.full(k + PUBLIC, np.inf)]
    for i in range(GRIDS):
        cells = ShiftedQuadtree(image, LEVELS * p, seed=GRIDS * seed + i).root_cell()
        for _ in range(LEVELS):
            counted = yield Ask(
                HistogramQuery(PartsOfImages(projection.space, projection, cells)),
                THIRD / (GRIDS * LEVELS),
            )
            full = counted.values > STANDS_OUT * max(deviation(counted), 1.0)
            at = cells.leaves[full]
            points.append(cells.centers[at])
            counts.append(counted.values[full].astype(float))
            for _ in range(p):
                first = len(cells.parent)
                cells = cells.split(at)
                at = np.arange(first, len(cells.parent))
            if len(at) == 0:
                break
    largest = np.argsort(-np.concatenate(counts), kind="stable")[:MOST]
    return np.unique(np.concatenate(points)[largest], axis=0)
