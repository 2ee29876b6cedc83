"""k-means on shifted quadtrees (Cohen-Addad et al., KDD 2022, Appendix A, Algorithms 6 and 7), then
reverse greedy to exactly k centers.

A tree keeps most squared distances and gets a few badly wrong: those around centers that lie close
to a cut of a large cell. So, given centers L that were released before: draw another tree; set
aside the clusters of the centers of L that it cuts badly; open, count and solve the rest with
squared diameters for k centers S; go on with S and the badly cut ones. Then the noisy sizes of all
clusters tell reverse greedy which k centers stay.

The paper begins with L = {0}; if the first tree cuts that badly, all records are set aside. Here
the first tree sets nothing aside, and its centers are the first L (Lemma 6 takes any). It makes log
n passes, and `n` is private; here their number is a public option. Its footnote 9, the best of
several runs of each pass, is not built: choosing the best reads the demand once more.

**Privacy.** The tree is public, L was released before, and so are the badly cut centers. A record
is set aside by its own place: it lies in one part of "the closed cells, and the clusters set
aside", so each round is a histogram as ever; so is that of cluster sizes. Shares of the passes and
of the sizes are exact rationals that add up to what there is for them: sequential composition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.badly_cut import badly_cut
from metricdp.methods.box.space_release import Cells, unequal
from metricdp.methods.question import Question
from metricdp.methods.shares import Purse
from metricdp.partitions.box.quadtree import OpenedCells, ShiftedQuadtree
from metricdp.privacy import HistogramQuery
from metricdp.solvers.reverse_greedy import reverse_greedy

CHANCE = 0.5
"""Of a center to be badly cut, up to a constant (alpha_F)."""

Array = NDArray[np.float64]


class Remaining:
    """The closed cells of a tree, and one more part: the clusters of some centers, whatever cell
    their records are in.

    Parameters
    ----------
    cells : OpenedCells
    centers : ndarray of float64, shape (k, d)
    aside : ndarray of bool, shape (k,)
        Whose clusters are set aside.
    """

    def __init__(self, cells: OpenedCells, centers: Array, aside: NDArray[np.bool_]) -> None:
        self.universe, self.n_parts = cells.universe, cells.n_parts + 1
        self._cells, self._centers, self._aside = cells, centers, aside

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Part of each point, shape (n,): the last for those set aside."""
        label = nearest_centers(records, self._centers)[0]
        return np.where(self._aside[label], self.n_parts - 1, self._cells.encode(records))


def improved_means(
    counted: Callable[[int, Fraction, Any], Any],
    depth: int,
    purse: Purse,
    first: Any,
    question: Question,
    shares: Sequence[Fraction],
) -> Array:
    """k centers after further passes: one for each share but the last, which pays for the sizes of
    clusters.

    Parameters
    ----------
    counted : callable
        Makes the release of a pass, of public coins, epsilon, and what makes of cells what is
        counted.
    depth : int
        Of the trees.
    purse : Purse
    first : QuadtreeRelease
        Of the first pass.
    question : Question
        A k-means.
    shares : sequence of Fraction
        Of the purse's grant.

    Returns
    -------
    ndarray of float64, shape (k, d)
        Distinct.
    """
    grant, space = purse.grant, first.cells.universe
    centers: Any = first.answer(replace(question, metric=first.universe)).centers
    for number, share in enumerate(shares[:-1], 1):
        seed = question.seed + (number << 64)
        bad = badly_cut(ShiftedQuadtree(space, seed=seed), centers, depth, CHANCE)
        before = centers

        def remaining(
            cells: OpenedCells, before: Array = before, bad: NDArray[np.bool_] = bad
        ) -> Remaining:
            return Remaining(cells, before, bad)

        release = counted(seed, grant.epsilon * share, remaining)
        purse.receipts.append(release.receipt)
        found: Any = release.answer(replace(question, metric=release.universe)).centers
        centers = unequal(space, np.concatenate([found, before[bad]]))
    sizes = purse.ask(HistogramQuery(Cells(space, centers)), shares[-1])
    return unequal(
        space, centers[reverse_greedy(centers, sizes.values.astype(np.float64), question.k)]
    )
