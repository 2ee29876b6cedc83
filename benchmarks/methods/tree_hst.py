"""Centers from the counts of the method ``hst`` that Fan, Li & Li (NeurIPS 2023) take: k disjoint
subtrees of largest score; and the exact optimum on the tree. Neither is better than the solver
(``hst.md``).

**Privacy.** As `metricdp.methods.finite.hst`: both are functions of the same release.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.methods.hst_subtrees import hst_init
from benchmarks.methods.tree_dp import solve_on_tree
from metricdp.arguments import Ints, chosen
from metricdp.methods import DPHST
from metricdp.methods.asking import Steps, Terms
from metricdp.methods.demand_release import Release, Search, on_weights
from metricdp.methods.question import Question


def initial(release: Release, question: Question) -> Ints:
    """Centers (k,) by the paper's choice of subtrees, on consistent estimates."""
    estimate, above = release.counts.above_noise()
    return hst_init(
        release.counts.tree,
        estimate,
        question.k,
        power=question.power,
        candidates=question.candidates,
        opened=question.opened,
        known=above,
    )


def on_tree(release: Release, question: Question) -> Ints:
    """Centers by the exact k-median of the tree's metric: positions, shape (k,)."""
    at = {"candidates": question.candidates, "opened": question.opened}
    return solve_on_tree(
        release.counts.tree, release.weights, question.k, power=question.power, **at
    ).centers


SEARCHES: dict[str, Search] = {"solver": on_weights, "initial": initial, "tree": on_tree}


@dataclass(frozen=True, kw_only=True)
class TreeHST(DPHST):
    """The method ``hst`` with another choice of centers.

    Parameters
    ----------
    centers : {"solver", "initial", "tree"}
        "solver" (the default): the solver on the counts' consistent estimates; "initial": the
        paper's choice of k disjoint subtrees of largest score and a point in each, on the same
        estimates, as deep as they stand out of the noise, and there at a median of the public
        points; "tree": the exact k-median of the tree's metric on the estimates.

    Examples
    --------
    >>> from benchmarks.methods.tree_hst import TreeHST
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> method = TreeHST(centers="tree")
    >>> len(set(mdp.k_median(metric, demand, k=2, epsilon=4, method=method).centers))
    2
    """

    name = "hst-tree"
    one_way = False
    """The tree is that of the universe's symmetric metric."""

    centers: str = "initial"

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen(self.centers, SEARCHES, "centers")

    def work(self, terms: Terms, question: Question) -> Steps:
        """The release of the levels' counts."""
        release = yield from super().work(terms, question)
        release.search = SEARCHES[self.centers]
        return release
