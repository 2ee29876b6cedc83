"""Noisy counts of the cells of a public shifted quadtree, split where the demand is (Cohen-Addad et
al., KDD 2022, Algorithms 1-3).

1. Pay a share for the number of records, unless it is public or guessed (`records_hint`).
2. In each of a few rounds, split cells whose counts are above the noise threshold, and release the
   histogram of all leaf cells.
3. Estimate the true counts from all rounds together, and spread each over its cell: the release is
   the weighted middles of leaf cells.
4. Solve on those weights, for any k.
5. By default in many dimensions, take private steps on the records with a part of the budget
   (`metricdp.methods.box.descent`).

**Privacy.** Steps 1, 2 and 5 are the only reads. The tree is public, splits follow from earlier
releases, and every record is in one leaf cell: a round is one `HistogramQuery`, a private step
one and a `SumsQuery`. Shares are exact rationals that add up (sequential composition). Records are
read once for all rounds (`metricdp.records.paths`, Algorithm 4). Unlike the paper, the noise is set
by the number of rounds instead of the tree's depth, and n is private.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints, chosen, count, positive
from metricdp.kernels.hst import consistent_counts, counts_above_noise
from metricdp.methods.asking import (
    COUNT_SHARE,
    Account,
    Ask,
    Image,
    Steps,
    Terms,
    count_records,
    counts_of,
    level_shares,
    shares_of_rest,
)
from metricdp.methods.box.anywhere import searched
from metricdp.methods.box.descent import MOST_STEPS, least_of_steps, lloyd_steps
from metricdp.methods.demand_release import Release, on_weights
from metricdp.methods.finite.hst import checked_budget, noise_variance
from metricdp.methods.finite.rounds import number_of_parts
from metricdp.methods.method import Method
from metricdp.methods.question import BoxQuestion, PointsQuestion, Question, Result
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.quadtree import QuadtreeCells, ShiftedQuadtree
from metricdp.partitions.box.refining import refined
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Receipt
from metricdp.releases import Release as Noisy
from metricdp.solvers.lloyd import converged, distinct

SUPPORT = 3.0
"""Standard deviations of noise above which a cell's estimate is distinguished from 0."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Released counts of cells (n_cells,) and their noise variances, infinite if not counted."""

    measured: Floats
    variance: Floats

    def with_values(self, cells: QuadtreeCells, at: Ints, release: Noisy) -> CellCounts:
        """These counts and a histogram of the cells `at`, averaged by precision where both
        count.
        """
        more = len(cells.parent) - len(self.measured)
        value = np.r_[self.measured, np.zeros(more)]
        variance = np.r_[self.variance, np.full(more, np.inf)]
        noise = (
            noise_variance(release.receipt.mechanisms[0])
            if release.receipt.mechanisms[0].scale
            else 1e-6
        )
        share = 1.0 / (1.0 + noise / variance[at])
        value[at] += share * (release.values[: len(at)] - value[at])
        variance[at] = noise * share
        return CellCounts(value, variance)

    def consistent(self, cells: QuadtreeCells) -> tuple[Floats, Floats]:
        """Least-squares estimates that add up (Hay et al., VLDB 2010), and bounds of variances."""
        found: tuple[Floats, Floats] = consistent_counts(
            cells.parent, self.measured, self.variance, cells.volume
        )
        return found

    def supported(self, cells: QuadtreeCells) -> Floats:
        """The same, without noise: below the deepest cells above the threshold, amounts are spread
        by volume; a cell below it beside one above it is empty.
        """
        estimate, variance = self.consistent(cells)
        amounts, significant = counts_above_noise(
            cells.parent, estimate, SUPPORT * np.sqrt(variance), cells.volume
        )
        parent = cells.parent
        empty = np.zeros(len(estimate), bool)
        has_significant = np.zeros(len(estimate), bool)
        has_significant[parent[1:][significant[1:]]] = True
        for level in range(1, int(cells.level.max()) + 1):
            at = np.flatnonzero(cells.level == level)
            empty[at] = empty[parent[at]] | (has_significant[parent[at]] & ~significant[at])
        return np.where(empty, 0.0, amounts)

    def estimated(self, cells: QuadtreeCells, estimate: str) -> Floats:
        """Estimates of all cells, by ``"own"`` noisy counts or as `supported`."""
        if estimate == "own":
            return np.where(np.isinf(self.variance), self.consistent(cells)[0], self.measured)
        return self.supported(cells)


SOLVER_POINTS = 10_000
"""Up to so many points centers are first searched among them; beyond, by seedings and Lloyd alone.
"""
POINTS = 4096
"""Weighted points of a release, at least: large cells are represented by several."""


def release_of(
    cells: QuadtreeCells, counts: CellCounts, receipt: Receipt, estimate: str
) -> Release:
    """The release of a shifted quadtree's counts: weighted middles of the leaf cells, the large
    ones split further by volume.

    Its facts are the ``cells``, their ``counts``, and ``amounts``, the estimated demand in each.
    """
    whole = counts.estimated(cells, estimate)
    fine, amounts = refined(cells, whole, POINTS)
    weights = amounts[fine.leaves]
    diameter = fine.diameter[fine.leaves]
    positive = np.maximum(weights, 0.0) + 1e-300
    return Release(
        EuclideanMetric(fine.centers[fine.leaves]),
        weights,
        receipt,
        space=cells.universe,
        method="quadtree",
        search=solver_centers,
        asks=PointsQuestion,
        cells=cells,
        counts=counts,
        amounts=whole,
        # about the mean distance of a cell's points from its middle
        smooth=float((positive * diameter).sum() / positive.sum()) / 4,
    )


def solver_centers(release: Any, question: Question) -> Floats:
    """Centers (k, d): first of low cost for the non-negative weights, then moved by Lloyd's method
    with all weights, negative ones included.
    """
    points = release.universe.points
    power = question.power
    smooth = release.smooth
    if len(points) > SOLVER_POINTS:
        weights = np.maximum(release.weights, 0.0)
        found = searched(
            points, weights, question.k, power=power, seed=question.seed, smooth=smooth
        )
    else:
        found = points[on_weights(release, question)]
    better = converged(points, release.weights, found, power=power, smooth=smooth)
    return distinct(better, points)


ESTIMATES = ("supported", "own")
SIDE_CUTS = 24
"""Default depth of the tree over the dimension: mean number of cuts across each side."""
FEWEST_ROUNDS = 2
MOST_ROUNDS = 4
"""Bounds of the default number of rounds, one a dimension."""
FEWEST_RECORDS = 4.0
"""Cells of fewer estimated records, in scales of the next round's noise, are not split."""
MOST_CELLS = 8192
FEW_DIMENSIONS = 3
"""Beyond, cells stay large, and a step on the records follows by default."""
STEP_SHARE = Fraction(1, 5)
"""Share of the budget for each step."""
_MOST = 100_000  # more levels or rounds are never answered


@dataclass(frozen=True, kw_only=True)
class Quadtree(Method):
    """Noisy counts of the cells of a shifted quadtree of the box, split where counts are above the
    noise threshold.

    **Privacy.** epsilon-DP, by the module's text; a delta would not reduce noise, and is not spent.

    Parameters
    ----------
    depth : int, optional
        Public bound of the levels: 24 for each coordinate by default, at most 30.
    rounds : int, optional
        Histograms: by default one for each dimension, at least 2 and at most 4. Before each, cells
        are split by as many levels as their counts allow.
    budget : {"rising", "uniform", "geometric"} or float
        What a round gets of the budget of the one before: 3, 1, 1/2, or that factor.
    threshold : float, optional
        Cells with at most this estimated count, in scales of the next round's noise, are not split:
        4 by default.
    estimate : {"supported", "own"}
        Of the cells' true counts. "supported": least-squares estimates that add up, 0 for a cell
        below the noise threshold beside one above it; "own": each cell's own noisy counts.
    steps : int, optional
        Private Lloyd (Weiszfeld) steps on the records from those centers, each for a fifth of the
        budget: none by default in up to three dimensions, one beyond.

    References
    ----------
    Cohen-Addad, Epasto, Lattanzi, Mirrokni, Munoz, Saulpic, Schwiegelshohn & Vassilvitskii,
    Scalable differentially private clustering via hierarchically separated trees (KDD 2022).
    Qardaji, Yang & Li, Differentially private grids for geospatial data (ICDE 2013).

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=mdp.methods.Quadtree()).centers.shape
    (2, 2)
    """

    name = "quadtree"
    chooses = (
        "The number of records is bought as a noisy count for 5 % of epsilon, unless it is public "
        "(replace-one) or guessed (records_hint). The tree is made of the box and public coins; "
        "which cells are split follows from released counts; depth and shares are public."
    )
    afterwards = (
        "True counts are estimated from all rounds together and spread over their cells; centers "
        "by a public solver on those weights."
    )
    in_finite = False
    in_space = True
    releases = True
    step_share = STEP_SHARE
    ends_early = False
    """Whether the first round that would split nothing is the last, with the rest of the budget."""

    depth: int | None = None
    rounds: int | None = None
    budget: Any = None
    threshold: float | None = None
    estimate: str = ESTIMATES[0]
    steps: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        bounds = {"depth": (1, _MOST), "rounds": (1, _MOST), "steps": (0, MOST_STEPS)}
        for name, (least, most) in bounds.items():
            if getattr(self, name) is not None:
                count(getattr(self, name), name, least, most)
        if self.budget is not None:
            checked_budget(self.budget)
        if self.threshold is not None:
            positive(self.threshold, "threshold")
        chosen(self.estimate, ESTIMATES, "estimate")

    def least(self, terms: Terms, question: BoxQuestion) -> Iterable[Ask]:
        """The smallest share of each kind of read; refuses a depth beyond the box's."""
        share, steps = self._split(question.space)
        asked = [self._least_of_tree(question.space, share)]
        return [*asked, least_of_steps(question.space, steps)] if steps else asked

    def _least_of_tree(self, space: EuclideanSpace, share: Fraction) -> Ask:
        ShiftedQuadtree(space, self._depth(space))  # refuses a depth beyond the box's
        rounds = (part * (1 - COUNT_SHARE) for part in self._shares(space))
        return Ask(counts_of(space), min(COUNT_SHARE, *rounds) * share)

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """Centers, and the release they were computed from."""
        share, steps = self._split(question.space)
        release, centers = yield from self._found(terms, question, share)
        if steps:
            space, power = question.space, question.power
            centers = yield from lloyd_steps(terms, space, centers, steps, power=power)
        return Result(centers, question.k, self.name, (yield Account()).receipt, release)

    def _found(
        self, terms: Terms, question: BoxQuestion, share: Fraction
    ) -> Generator[Any, Any, tuple[Release, Any]]:
        """Steps 1 to 4, for a share of the budget: the release and its centers."""
        release = yield from self._release(terms, question.space, question.seed, share)
        return release, release.answer(question.among(release.universe)).centers

    def _depth(self, space: EuclideanSpace) -> int:
        return self.depth or SIDE_CUTS * space.dimension

    def _split(self, space: EuclideanSpace) -> tuple[Fraction, list[Fraction]]:
        """The share of the tree, and those of the steps."""
        steps = int(space.dimension > FEW_DIMENSIONS if self.steps is None else self.steps)
        each = min(self.step_share, Fraction(1, steps + 1))
        return 1 - each * steps, [each] * steps

    def _shares(self, space: EuclideanSpace) -> list[Fraction]:
        rounds = self.rounds or min(max(space.dimension, FEWEST_ROUNDS), MOST_ROUNDS)
        return level_shares(checked_budget(self.budget or "rising"), rounds)

    def _release(
        self, terms: Terms, space: EuclideanSpace, seed: int, share: Fraction, kept: Any = None
    ) -> Generator[Any, Any, Release]:
        """Steps 1 to 3, for a share; `kept` makes a partition of cells that has one more part, for
        records that are set aside.
        """
        before = yield Account()
        end = before.left - share
        tree = ShiftedQuadtree(space, seed=seed)
        image = Image(space).preaggregated(tree)
        cells = tree.root_cell()

        def histogram(cells: QuadtreeCells, share: Fraction) -> Ask:
            return Ask(HistogramQuery(cells if kept is None else kept(cells)), share, image)

        guess = (self.records_hint or 0.0) * terms.weight_units
        known = CellCounts(np.array([guess]), np.array([np.inf]))
        part = share * COUNT_SHARE
        records = yield from count_records(terms, part, self.records_hint, image)
        if records.release is not None:
            known = known.with_values(cells, np.array([0]), records.release)
        cells, known = yield from self._rounds(terms, space, end, cells, known, histogram)
        receipt = Receipt.combined((yield Account()).receipts[len(before.receipts) :])
        return release_of(cells, known, receipt, self.estimate)

    def _rounds(
        self,
        terms: Terms,
        space: EuclideanSpace,
        end: Fraction,
        cells: QuadtreeCells,
        known: CellCounts,
        histogram: Callable[[QuadtreeCells, Fraction], Ask],
    ) -> Generator[Any, Any, tuple[QuadtreeCells, CellCounts]]:
        """Step 2, until a share `end` of the budget is left: the cells and their counts.

        `histogram`: the request for the counts of cells, for a share.
        """
        shares = shares_of_rest(self._shares(space))
        for i, share in enumerate(shares):
            left = (yield Account()).left - end
            scale = terms.scale_of_counts(left * share)
            finer = self._split_cells(cells, known, scale, self._depth(space))
            last = i == len(shares) - 1 or (self.ends_early and finer is cells)
            if finer is cells and not last:
                continue  # nothing to count anew: the next rounds share this one's budget
            cells = finer
            counts = yield histogram(cells, left if last else left * share)
            known = known.with_values(cells, cells.leaves, counts)
            if last:
                break
        return cells, known

    def _split_cells(
        self, cells: QuadtreeCells, known: CellCounts, scale: float, depth: int
    ) -> QuadtreeCells:
        """The cells of the next round, by released counts alone; the same object if none is
        split.
        """
        estimate, _ = known.consistent(cells)
        most = min(MOST_CELLS, number_of_parts(float(estimate[0]), scale))
        return refined(cells, estimate, most, (self.threshold or FEWEST_RECORDS) * scale, depth)[0]
