"""The finite default's rounds on halves of a box: for few records, and where demand is `expected`.

1. In one round (very few records), or two to five, halve the cells of largest estimate times
   diameter, and count them; a tenth of the budget each but for the last.
2. Estimate the counts from all rounds, by the posterior of `metricdp.solvers.estimate`. How far the
   expectation is believed, `Estimate.trust`, is learned from the noisy counts.
3. Spread each cell's estimate over what is expected in it, the untrusted rest on its middle. For
   centers, rests that may be noise weigh less (`metricdp.methods.box.shrinking`).

**Privacy.** Epsilon-DP by sequential composition, as in `metricdp.methods.finite.partition`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.methods.asking import Account
from metricdp.methods.box.shrinking import shrunk
from metricdp.methods.demand_release import Release
from metricdp.methods.expected import ExpectedPoints
from metricdp.methods.finite.looks import ENOUGH, Look, number_of_parts
from metricdp.methods.finite.partition import EVEN, Looked, refined
from metricdp.methods.shares import Records, Terms
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.halving import Halving

ROUND = Look(Fraction(1, 10), 2.0, 2.0)
LAST = Look(Fraction(1), 4.0, 1.0)
MOST_ROUNDS = 4
PER_CELL = 32.0
"""Rounds end when the last one's cells are so many for each cell that estimates fill."""
UNSEEN = 30.0
"""Density for a later cut that is spread evenly: so many units of noise, a tenth at most."""


def halved_release(
    terms: Terms,
    space: EuclideanSpace,
    count: Records,
    expected: ExpectedPoints | None,
) -> Generator[Any, Any, Release]:
    """One release of demand; see the module's text for the steps and the guarantee."""
    known = None if expected is None else (expected.points, expected.weights)
    halving = Halving(space, known, ExpectedPoints.EVEN)
    looked = yield from refined(terms, halving, count, _rounds, told=lambda parts: parts.cells)
    tree: Any = looked.tree
    estimate: Any = looked.estimate
    noise = looked.releases[-1].receipt.mechanisms[0].scale
    points, sides = tree.universe.points, tree.cells.sides[tree.cells.leaves]
    trust = 0.0 if expected is None else estimate.trust
    rest = (1 - trust) * estimate.mean
    kept = shrunk(tree, estimate, noise)
    near = np.empty(0)
    if expected is not None:
        m = tree.n_parts
        share = trust * estimate.mean / tree.sizes[:m]
        near = (1 - expected.EVEN) * share[tree.cells.encode(expected.points)] * expected.weights
        rest += expected.EVEN * share * tree.numbers[:m]
        points = np.concatenate([expected.points, points])
        sides = np.concatenate([np.zeros_like(expected.points), sides])
    return Release(
        EuclideanMetric(points),
        np.r_[near, rest],
        (yield Account()).receipt,
        space=space,
        partition=tree.cells,
        histograms=tuple(looked.releases),
        estimate=estimate,
        sides=sides,
        sure=np.r_[near, kept * rest],
    )


def _rounds(looked: Looked, records: float, scale: float) -> Iterator[Look]:
    """Rounds until they have found where the records are; the last has what is left."""
    looked.even = min(EVEN, UNSEEN * scale / max(records, 1.0))
    whole: Any = looked.whole
    left = Fraction(1)
    for _ in range(MOST_ROUNDS if records >= ENOUGH * scale else 0):
        yield ROUND
        left -= ROUND.share
        mean = looked.estimate.mean if looked.estimate else np.ones(1)
        whole.trust = looked.estimate.trust if looked.estimate else 1.0
        filled = float(mean.sum() ** 2 / max((mean**2).sum(), 1e-9))
        if number_of_parts(records, scale / float(left), LAST.finer) <= PER_CELL * max(filled, 1.0):
            break
    yield LAST._replace(share=left)
