"""k-means on shifted quadtrees (Cohen-Addad et al., KDD 2022, Appendix A, Algorithms 6 and 7), then
reverse greedy to exactly k centers.

A tree keeps most squared distances and gets a few badly wrong: those around centers that lie close
to a cut of a large cell. So, given centers L that were released before: draw another tree; set
aside the clusters of the centers of L that it cuts badly; open, count and solve the rest with
squared diameters for k centers S; go on with S and the badly cut ones. Then the noisy sizes of all
clusters tell reverse greedy which k centers stay.

The paper begins with L = {0}; if the first tree cuts that badly, all records are set aside. Here
the first tree sets nothing aside, and its centers are the first L (Lemma 6 takes any). It makes log
n passes, and `n` is private; here their number is a public option, and so is that of the runs of
each pass of which the best goes on (its footnote 9: `metricdp.methods.box.best_run`).

**Privacy.** The tree is public, L was released before, and so are the badly cut centers. A record
is set aside by its own place: it lies in one part of "the closed cells, and the clusters set
aside", so each round is a histogram as ever; so is that of cluster sizes. Shares of the passes and
of the sizes are exact rationals that add up to what there is for them: sequential composition.
Several runs of a pass share what the pass has with the choice among them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.methods.asking import Ask, Steps
from metricdp.methods.box.badly_cut import badly_cut
from metricdp.methods.box.best_run import best_run
from metricdp.methods.box.descent import distinct_in
from metricdp.methods.question import BoxQuestion
from metricdp.partitions.box.cells import VoronoiCells
from metricdp.partitions.box.quadtree import RemainingCells, ShiftedQuadtree
from metricdp.privacy.queries import HistogramQuery
from metricdp.solvers.reverse_greedy import reverse_greedy

CHANCE = 0.5
"""Of a center to be badly cut, up to a constant (alpha_F)."""

Array = NDArray[np.float64]


def improved_means(
    counted: Callable[[int, Fraction, Any], Steps],
    depth: int,
    centers: Array,
    question: BoxQuestion,
    shares: Sequence[Fraction],
    runs: int = 1,
) -> Generator[Any, Any, Array]:
    """k centers after further passes: one for each share but the last, which pays for the sizes of
    clusters.
    """
    space = question.space
    for number, share in enumerate(shares[:-1], 1):
        before = centers

        def run(
            which: int, part: Fraction, before: Array = before, number: int = number
        ) -> Generator[Any, Any, tuple[Any, Array]]:
            seed = question.seed + (number << 64) + (which << 128)
            bad = badly_cut(ShiftedQuadtree(space, seed=seed), before, depth, CHANCE)
            remaining = partial(RemainingCells, centers=before, aside=bad)
            release = yield from counted(seed, part, remaining)
            found: Any = release.answer(question.among(release.universe)).centers
            return release, distinct_in(space, np.concatenate([found, before[bad]]))

        _, centers = yield from best_run(space, share, runs, run, question.power)
    sizes = yield Ask(HistogramQuery(VoronoiCells(space, centers)), shares[-1])
    kept = reverse_greedy(centers, sizes.values.astype(np.float64), question.k)
    return distinct_in(space, centers[kept])
