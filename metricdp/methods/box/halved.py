"""The finite default's rounds on halves of a box, for demand that is expected somewhere.

1. Pay 1 % for the number of records. In one round (few records), or two to five, halve the cells of
   largest estimate times diameter, and count them; a tenth of the budget each but for the last.
2. Estimate the counts from all rounds, by the posterior of `metricdp.solvers.estimate`. How far the
   expectation is believed, `Estimate.trust`, is learned from the noisy counts.
3. Spread each cell's estimate over what is expected in it, the untrusted rest on its middle. Rests
   below half a unit of noise are left out.

**Privacy.** Epsilon-DP by sequential composition, as in `metricdp.methods.finite.partition`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.methods.asking import Account
from metricdp.methods.demand_release import Release
from metricdp.methods.expected import ExpectedPoints
from metricdp.methods.finite.looks import ENOUGH, Look, number_of_parts
from metricdp.methods.finite.partition import EVEN, Looked, refined
from metricdp.methods.shares import Terms
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.halving import Halving

ROUND = Look(Fraction(1, 10), 2.0, 2.0)
LAST = 4.0
MOST_ROUNDS = 4
PER_CELL = 32.0
"""Rounds end when the last one's cells are so many for each cell that estimates fill."""
UNSEEN = 30.0
"""Density for a later cut that is spread evenly: so many units of noise, a tenth at most."""
SHOWS = 0.5
"""Units of noise below which what is not expected is left out."""

Array = NDArray[np.float64]


def halved_release(
    terms: Terms,
    space: EuclideanSpace,
    expected: ExpectedPoints,
    count_share: Fraction,
    records_hint: float | None,
) -> Generator[Any, Any, Release]:
    """One release of demand; see the module's text for the steps and the guarantee."""
    known = expected.points, expected.weights
    halving = Halving(space, known, expected.EVEN)
    looked = yield from refined(
        terms,
        halving,
        records_hint,
        _rounds,
        count_share=count_share,
        told=lambda parts: parts.cells,
    )
    tree: Any = looked.tree
    estimate: Any = looked.estimate
    mean, trust, m = estimate.mean, estimate.trust, tree.n_parts
    at = tree.cells.encode(expected.points)
    near = (1 - expected.EVEN) * trust * mean / tree.sizes[:m]
    rest = (1 - trust) * mean
    rest[rest < SHOWS * (1 - trust) * looked.releases[-1].receipt.mechanisms[0].scale] = 0.0
    rest += expected.EVEN * trust * mean * tree.numbers[:m] / tree.sizes[:m]
    leaves = tree.cells.leaves
    sides = tree.cells.sides[leaves]
    return Release(
        EuclideanMetric(np.concatenate([expected.points, tree.universe.points])),
        np.r_[near[at] * expected.weights, rest],
        (yield Account()).receipt,
        space=space,
        partition=tree.cells,
        histograms=tuple(looked.releases),
        estimate=estimate,
        sides=np.concatenate([np.zeros_like(expected.points), sides]),
    )


def _rounds(looked: Looked, records: float, scale: float) -> Iterator[Look]:
    """Rounds until they have found where the records are; the last has what is left."""
    looked.even = min(EVEN, UNSEEN * scale / max(records, 1.0))
    left = Fraction(1)
    for _ in range(MOST_ROUNDS if records >= ENOUGH * scale else 0):
        yield ROUND
        left -= ROUND.share
        mean = looked.estimate.mean if looked.estimate else np.ones(1)
        filled = float(mean.sum() ** 2 / max((mean**2).sum(), 1e-9))
        if number_of_parts(records, scale / float(left), LAST) <= PER_CELL * max(filled, 1.0):
            break
    yield Look(left, LAST, ROUND.least)
