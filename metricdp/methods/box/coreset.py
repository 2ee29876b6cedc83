"""Private coresets of demand in a box: weighted points for any number of questions about centers.

The default method's release (`metricdp.methods.box.default`) with the whole budget. Cells that do
not stand above the noise one by one are represented by large blocks (`whole`). The rounds of
Feldman, Xiang, Zhu & Rus (IPSN 2017), which cost more, are in ``benchmarks/methods``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricdp.arrays import Floats
from metricdp.methods.asking import Ask, Steps
from metricdp.methods.demand_release import Release
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import BoxQuestion
from metricdp.methods.shares import Terms, deviation
from metricdp.partitions.box.grid import Grid, NestedGrid

BLOCKS = 64
"""Into which what does not stand out is summed."""


def whole(standing: Any) -> Release:
    """A release of all of a box's cells. Noisy counts below the noise threshold are summed over
    large blocks; sums above a standard deviation are scaled to the signed total and spread evenly.
    Centers are found without them, on ``standing``.
    """
    weights = standing.weights * standing.receipt.grains
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
    return Release(
        standing.universe,
        weights,
        standing.receipt,
        space=standing.space,
        method="coreset",
        search=on_standing,
        histograms=standing.histograms,
        standing=standing,
    )


def on_standing(release: Release, question: BoxQuestion) -> Floats:
    """Centers for the cells that stand out, shape (k, d)."""
    found: Floats = release.standing.search(release.standing, question)
    return found


@dataclass(frozen=True, kw_only=True)
class Coreset(Method):
    """A private coreset, and centers computed from it alone.

    **Privacy.** The release's: `metricdp.methods.box.default`.

    Parameters
    ----------
    source : Method, optional
        What makes the release: the default method of the box.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=mdp.methods.Coreset()).centers.shape
    (2, 2)
    """

    name = "coreset"
    chooses = "As the default method of the box."
    afterwards = (
        "Noisy counts of cells become weighted points, those that do not stand out told by larger "
        "blocks; centers by a public solver on them."
    )
    in_finite = False
    in_space = True
    releases = True

    source: Any = None

    def composition(self, offer: Terms) -> Composition:
        """As the release; in a box that is not known yet, of many dimensions."""
        found: Composition = "rho" if self.source is None else self.source.composition(offer)
        return found

    def least(self, terms: Terms, question: BoxQuestion) -> Iterable[Ask]:
        """As the release."""
        found: Iterable[Ask] = self.source.least(terms, question)
        return found

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """Centers, and the coreset they were computed from."""
        release = yield from self.source.work(terms, replace(question, k=0))
        told = whole(release) if isinstance(release.partition, NestedGrid) else release
        return replace(told.answer(question), method=self.name)
