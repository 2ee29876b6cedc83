"""The default method in a box of up to three dimensions: the finite default's rounds of adaptive
refinement, on a hierarchy of halved cells.

1. Pay 2.5 % of epsilon for the number of records, unless it is public or guessed (`records_hint`).
2. In one round (few records), or two to five, halve the cells of largest estimate times diameter,
   and count them. Each round gets a twentieth of the budget, the last one the rest.
3. Estimate the counts from all rounds, by the posterior of `metricdp.solvers.estimate`. The noisy
   counts decide how far `expected` weights are used (`Estimate.trust`).
4. Spread each cell's estimate over the points expected in it, else put it on the cell's middle.
   These weights answer any number of questions. For centers, weights that may be noise are shrunk
   (`metricdp.methods.box.shrinking`), and more of a cell's weight is put beside denser neighbors
   (`metricdp.methods.box.anywhere`).

**Privacy.** Steps 1 and 2 are the only reads, a `CountQuery` and a `HistogramQuery` a round:
epsilon-DP by sequential composition, as each partition follows from public facts and earlier
releases. A record's cell follows from its own coordinates. All else is post-processing.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from metricdp.methods.asking import Account, Ask, Records, Steps, Terms, count_records, counts_of
from metricdp.methods.box.shrinking import shrinkage_factors
from metricdp.methods.demand_release import Release
from metricdp.methods.expected import ExpectedPoints
from metricdp.methods.finite.partition import EVEN, Refinement, refined
from metricdp.methods.finite.rounds import ENOUGH, Round
from metricdp.methods.method import Method
from metricdp.methods.question import BoxQuestion
from metricdp.metrics.snapping import finite_points
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.halving import Halving
from metricdp.partitions.finite.ward import PartitionTree

MOST_DIMENSIONS = 3
"""Beyond, the 3^d cells around one hold too much noise, and the cells are too wide."""
COUNT_SHARE = Fraction(1, 40)
ROUND = Round(Fraction(1, 20), 1.0)
MOST_ROUNDS = 4
ENOUGH_FOR_MORE = 600.0
"""With so many records per unit of noise there are up to four rounds before the last; with `ENOUGH`
there is one.
"""
PER_CELL = 8.0
"""Cells of the last round for each effectively filled cell (the sum of estimates squared, over the
sum of their squares). When that is more than the number of cells below, the last round follows.
"""
UNSEEN = 30.0
"""Demand spread evenly when the next cells are chosen, in units of noise; at most a tenth."""
CELLS_FACTOR = 19.0
CELLS_A_CENTER = 40.0
CELLS_A_RECORD = 0.4
FEWEST_CELLS = 16
MOST_CELLS = 6144
"""A round has 19·√x cells for x records per unit of noise, and at least 40 for each center that is
asked for, but these are at most .4·x. Fewer cells are wider than clusters, more add noise and take
time (benchmarks/euclidean.md).
"""


@dataclass(frozen=True, kw_only=True)
class Halved(Method):
    """The default method of a box of few dimensions.

    **Privacy.** epsilon-DP, by the module's text; a delta would not reduce noise, and is not spent.
    """

    name = "partition"
    chooses = (
        "The number of records is bought as a noisy count for 2.5 % of epsilon, unless it is "
        "public (replace-one) or guessed (records_hint). How many rounds there are, and their "
        "cells, follow from the box, that count and what was released before. Points that are "
        "`expected`, if given, are public: they shape cells and estimate."
    )
    afterwards = (
        "Posterior mean of the true counts given all noisy ones, on the cells' middles; centers by "
        "a public solver on the cells above the noise threshold."
    )
    in_space = True
    adds_up = True
    releases = True

    expected: ExpectedPoints | None = None

    def least(self, terms: Terms, question: BoxQuestion) -> Iterable[Ask]:
        """The number of records, which gets the smallest share."""
        if self.expected is not None:
            finite_points(self.expected.points, question.space.dimension)
        return [Ask(counts_of(question.space), COUNT_SHARE)]

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """The release; or, for k centers, its answer.

        O(n · depth) time a round for n records; of m cells O(m) with a constant of some 10^4
        operations.
        """
        count = yield from count_records(terms, COUNT_SHARE, self.records_hint)
        return (yield from halved(terms, question, count, self.expected))


def halved(
    terms: Terms, question: BoxQuestion, count: Records, expected: ExpectedPoints | None
) -> Steps:
    """The release; or, for k centers, its answer."""
    found = yield from _released(terms, question.space, count, expected, question.k)
    return found.answer(question) if question.k else found


def _released(
    terms: Terms, space: EuclideanSpace, count: Records, expected: ExpectedPoints | None, k: int = 0
) -> Generator[Any, Any, Release]:
    """Steps 2 to 4 of the module's text, with its guarantee; `k`: centers, 0 if unknown."""
    known = None if expected is None else (expected.points, expected.weights)
    halving = Halving(space, known, ExpectedPoints.EVEN)
    refinement = yield from refined(
        terms, halving, count, partial(_rounds, k=k), keys_of=lambda parts: parts.cells
    )
    tree: Any = refinement.tree
    estimate: Any = refinement.estimate
    noise = refinement.releases[-1].receipt.mechanisms[0].scale
    sides = tree.cells.sides[tree.cells.leaves]
    factor = (
        np.ones(len(sides)) if estimate.by_chance else shrinkage_factors(tree, estimate, noise, k)
    )
    if expected is not None and estimate.trust:
        estimate = replace(estimate, tree=_with_points(tree, expected))
        n = len(expected.points)
        sides = np.concatenate([np.zeros((n, space.dimension)), sides])
        factor = np.r_[np.ones(n), factor]
    weights = estimate.spread(estimate.mean)
    return Release(
        estimate.tree.universe,
        weights,
        (yield Account()).receipt,
        space=space,
        partition=tree.cells,
        histograms=tuple(refinement.releases),
        estimate=estimate,
        sides=sides,
        sure=factor * weights,
    )


def _with_points(tree: Any, expected: ExpectedPoints) -> PartitionTree:
    """The same parts as sets of the expected points and the cells' middles."""
    volumes = tree.numbers[: tree.n_parts]
    inside = tree.cells.encode(expected.points).astype(np.int32)
    return PartitionTree(
        EuclideanMetric(np.concatenate([expected.points, tree.universe.points])),
        np.r_[inside, tree.labels],
        tree.children,
        tree.sizes,
        tree.nodes,
        np.r_[(1 - expected.EVEN) * expected.weights, expected.EVEN * volumes],
        tree.numbers,
    )


def _rounds(refinement: Refinement, records: float, scale: float, k: int) -> Iterator[Round]:
    """Rounds until cells are as fine as `PER_CELL` says; the last has the rest of the budget."""
    refinement.even = min(EVEN, UNSEEN * scale / max(records, 1.0))
    refinement.number_of_parts = partial(number_of_cells, k=k, dimension=refinement.growth)
    refinement.quick = True
    whole: Any = refinement.whole
    left = Fraction(1)
    finer = 1.0
    before_last = MOST_ROUNDS if records >= ENOUGH_FOR_MORE * scale else 1
    for _ in range(before_last if records >= ENOUGH * scale else 0):
        yield ROUND
        left -= ROUND.share
        mean = refinement.estimate.mean if refinement.estimate else np.ones(1)
        whole.trust = refinement.estimate.trust if refinement.estimate else 1.0
        filled = float(mean.sum() ** 2 / max((mean**2).sum(), 1e-9))
        finer = PER_CELL * filled / refinement.number_of_parts(records, scale / float(left))
        if finer >= 1.0:
            break
    yield Round(left, max(finer, 1.0))


def number_of_cells(
    records: float, scale: float, finer: float = 1.0, k: int = 0, dimension: float = 2.0
) -> int:
    """Cells of a round, for x = records / scale, of public inputs alone: `finer` times the larger
    of 19·√x (19·∛x on a line) and 40·k (.4·x at most); from 16 to 6,144.
    """
    ratio = max(records / scale, 0.0)
    regular = CELLS_FACTOR * ratio ** (1 / 3 if dimension == 1 else 1 / 2)
    cells = max(regular, min(CELLS_A_CENTER * k, CELLS_A_RECORD * ratio))
    return int(np.clip(finer * max(cells, FEWEST_CELLS), FEWEST_CELLS, MOST_CELLS))
