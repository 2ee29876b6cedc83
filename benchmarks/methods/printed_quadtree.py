"""Algorithms 1 to 3 and Appendix A of Cohen-Addad et al. (KDD 2022), with the steps of their
experiments.

One level a round, a uniform budget, decisions and the dynamic program on each cell's own counts,
two passes for k-means, then four private steps, each for as much as the trees. Not as printed: the
depth and the number of passes are public, where the paper has log n.

**Privacy.** As `benchmarks.methods.several_trees`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from benchmarks.methods.several_trees import SeveralTrees
from metricdp.methods.asking import level_shares
from metricdp.methods.box.quadtree import CellCounts
from metricdp.methods.finite.hst import checked_budget
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.quadtree import QuadtreeCells

SIDE_CUTS = 12
"""The paper's alpha."""


@dataclass(frozen=True, kw_only=True)
class PrintedQuadtree(SeveralTrees):
    """The tree of the paper, its dynamic program, and its private steps.

    Examples
    --------
    >>> from benchmarks.methods.printed_quadtree import PrintedQuadtree
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=PrintedQuadtree()).centers.shape
    (2, 2)
    """

    name = "quadtree-printed"
    step_share = Fraction(1)
    ends_early = True

    budget: Any = "uniform"
    threshold: float | None = 20 / 3
    """The paper's 10·beta·d/epsilon, with beta = 8, in scales alpha·d/epsilon."""
    centers: str | None = "tree"
    estimate: str = "own"
    steps: int | None = 4
    passes: int | None = 2

    def _depth(self, space: EuclideanSpace) -> int:
        return self.depth or SIDE_CUTS * space.dimension

    def _shares(self, space: EuclideanSpace) -> list[Fraction]:
        return level_shares(checked_budget(self.budget), self.rounds or self._depth(space))

    def _split_cells(
        self, cells: QuadtreeCells, known: CellCounts, scale: float, depth: int
    ) -> QuadtreeCells:
        above = known.measured[cells.leaves] > (self.threshold or 0) * scale
        at = cells.leaves[above & (cells.level[cells.leaves] < depth)]
        return cells.split(at) if len(at) else cells
