"""k-means on shifted quadtrees (Cohen-Addad et al., KDD 2022, Appendix A, Algorithms 6 and 7), then
reverse greedy to k centers.

A tree gets few squared distances badly wrong: those around centers close to a cut of a large cell.
So each pass draws another tree, sets the clusters of badly cut centers aside, solves the rest for k
centers, and keeps both. Noisy cluster sizes then tell reverse greedy which k centers stay.

The paper begins with L = {0}; here the first tree sets nothing aside, and its centers are the first
L (Lemma 6 takes any). The number of passes, and of runs of each (`benchmarks.methods.best_run`), is
public.

**Privacy.** A record lies in one part of "the leaf cells, and the clusters set aside", so each
round is one histogram; so are cluster sizes. Shares are exact rationals (sequential composition).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks.methods.badly_cut import RemainingCells, badly_cut
from benchmarks.methods.best_run import best_run
from benchmarks.methods.reverse_greedy import reverse_greedy
from metricdp.arguments import Floats
from metricdp.methods.asking import Ask, Steps
from metricdp.methods.box.descent import distinct_in
from metricdp.methods.question import BoxQuestion
from metricdp.partitions.box.cells import VoronoiCells
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy.queries import HistogramQuery

CHANCE = 0.5
"""Of a center to be badly cut, up to a constant (alpha_F)."""


def improved_means(
    counted: Callable[[int, Fraction, Any], Steps],
    depth: int,
    centers: Floats,
    question: BoxQuestion,
    shares: Sequence[Fraction],
    runs: int = 1,
) -> Generator[Any, Any, Floats]:
    """k centers after further passes, one a share; the last share pays for cluster sizes."""
    space = question.space
    for number, share in enumerate(shares[:-1], 1):
        before = centers

        def run(
            which: int, part: Fraction, before: Floats = before, number: int = number
        ) -> Generator[Any, Any, tuple[Any, Floats]]:
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
