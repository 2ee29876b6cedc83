"""What Cohen-Addad et al. (KDD 2022) do with their trees and the method ``quadtree`` does without:
the dynamic program on the opened cells (Algorithm 3), more trees for k-means (Appendix A), and the
best of several runs (footnote 9). None is better than the package's solver on one tree
(``quadtree.md``).

**Privacy.** As `metricdp.methods.Quadtree`, `benchmarks.methods.quadtree_means` and
`benchmarks.methods.best_run`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks.methods.best_run import best_run, least_of_choice, shares_of_runs
from benchmarks.methods.quadtree_means import improved_means
from benchmarks.methods.tree_dp import table_sizes, tree_k_median
from metricdp.arguments import Floats, chosen, count
from metricdp.methods import Quadtree
from metricdp.methods.asking import Ask, Terms
from metricdp.methods.box.descent import MOST_STEPS
from metricdp.methods.box.quadtree import solver_centers
from metricdp.methods.demand_release import Release
from metricdp.methods.question import BoxQuestion, Question
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.refining import refined


def tree_centers(release: Any, question: Question) -> Floats:
    """Middles of the k cells of the paper's dynamic program on `amounts` (Algorithm 3), shape
    (k, d).

    Where there are fewer leaf cells than centers, the largest are divided.
    """
    k = question.k
    cells, amounts = refined(release.cells, release.amounts, k)
    places = (cells.child < 0).astype(np.int64)
    for v in range(len(places) - 1, 0, -1):
        places[cells.parent[v]] += places[v]
    at = table_sizes(cells.parent, places, k)
    away = cells.diameter**question.power
    _, centers = tree_k_median(cells.parent, amounts, away, np.zeros_like(places), places, k, *at)
    found: Floats = cells.centers[np.flatnonzero((centers > 0) & (cells.child < 0))]
    return found


SEARCHES = {"solver": solver_centers, "tree": tree_centers}


@dataclass(frozen=True, kw_only=True)
class SeveralTrees(Quadtree):
    """A quadtree method with several trees, or the paper's program on them.

    Parameters
    ----------
    centers : {"solver", "tree"}
        "solver": the package's solver on the estimated weights, then Lloyd's or Weiszfeld's steps;
        "tree": the exact optimum of the paper's dynamic program on the opened cells.
    passes : int, optional
        Trees for k-means: each after the first sets aside the clusters of the centers that it cuts
        badly, keeps these centers, and solves the rest; what is more than k is removed by reverse
        greedy on noisy cluster sizes (`benchmarks.methods.quadtree_means`). 1 by default; one for
        k-median.
    runs : int
        Trees of every pass, of which the one with the best centers goes on: their budget is shared,
        with a tenth for a private comparison of costs (`benchmarks.methods.best_run`). Helps the
        dynamic program on many records; 1 by default.

    Examples
    --------
    >>> from benchmarks.methods.several_trees import SeveralTrees
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> method = SeveralTrees(runs=2, passes=2, centers="tree")
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=method).centers.shape
    (2, 2)
    """

    name = "quadtree-several"

    centers: str | None = None
    passes: int | None = None
    runs: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.centers is not None:
            chosen(self.centers, SEARCHES, "centers")
        if self.passes is not None:
            count(self.passes, "passes", 1, MOST_STEPS)
        count(self.runs, "runs", 1, MOST_STEPS)

    def _trees(self, share: Fraction, power: int) -> list[Fraction]:
        """Shares of the trees; after several, of cluster sizes too."""
        passes = (self.passes or 1) if power == 2 else 1
        return [share] if passes == 1 else [share / (passes + 1)] * (passes + 1)

    def least(self, terms: Terms, question: BoxQuestion) -> Iterable[Ask]:
        """The same of one tree of one run, and of the choice between runs."""
        space = question.space
        share = min(self._trees(self._split(space)[0], question.power))
        each, _ = shares_of_runs(share, self.runs)
        asked = [self._least_of_tree(space, each), *least_of_choice(space, share, self.runs)]
        return [*asked, *super().least(terms, question)]

    def _found(
        self, terms: Terms, question: BoxQuestion, share: Fraction
    ) -> Generator[Any, Any, tuple[Release, Any]]:
        space = question.space
        first, *more = self._trees(share, question.power)

        def run(which: int, part: Fraction) -> Generator[Any, Any, tuple[Release, Any]]:
            made = yield from self._release(terms, space, question.seed + (which << 128), part)
            return made, made.answer(question.among(made.universe)).centers

        release, centers = yield from best_run(space, first, self.runs, run, question.power)
        if more:
            counted = partial(self._release, terms, space)
            depth = self._depth(space)
            centers = yield from improved_means(counted, depth, centers, question, more, self.runs)
        return release, centers

    def _release(
        self, terms: Terms, space: EuclideanSpace, seed: int, share: Fraction, kept: Any = None
    ) -> Generator[Any, Any, Release]:
        release = yield from super()._release(terms, space, seed, share, kept)
        release.search = SEARCHES[self.centers or "solver"]
        return release
