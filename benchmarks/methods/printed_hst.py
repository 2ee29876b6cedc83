"""Algorithm 6 of Fan, Li & Li (NeurIPS 2023) as printed.

Every count on its own, however noisy, decides by itself; the walk goes down to the last level and
ends at the point that names the cluster. Two things are not as printed: the levels' budgets add up
to epsilon, not to almost twice that, and noise is discrete. The root, in which all subtrees lie, is
not counted.

**Privacy.** As `metricdp.methods.finite.hst`: a histogram a level, with exact shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods.hst_subtrees import hst_init
from metricdp.methods import DPHST
from metricdp.methods.asking import Account, Ask, Steps, Terms, level_shares
from metricdp.methods.demand_release import Release
from metricdp.methods.method import Composition
from metricdp.methods.question import Question
from metricdp.partitions.finite.hst import HST, tree_for
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Receipt

LEVELS = 8


@dataclass(frozen=True, kw_only=True)
class PrintedHST(DPHST):
    """Single noisy counts of eight levels, and the paper's choice by them.

    Examples
    --------
    >>> from benchmarks.methods.printed_hst import PrintedHST
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> len(mdp.k_median(metric, demand, k=2, epsilon=4, method=PrintedHST()).centers)
    2
    """

    name = "hst-printed"
    one_way = False

    budget: Any = "geometric"
    levels: int | None = LEVELS

    def composition(self, offer: Terms) -> Composition:
        """Laplace noise alone."""
        return "epsilon"

    def work(self, terms: Terms, question: Question) -> Steps:
        """The release of all levels below the root, whether or not a cluster splits."""
        tree = tree_for(self.tree, question.metric, question.seed)
        levels = tuple(range(1, tree.n_levels))[: self.levels]
        counts = []
        left = (yield Account()).left
        for level, share in zip(levels, level_shares(self._factor, len(levels))):
            noisy = yield Ask(HistogramQuery(tree.parts_at(level)), left * share)
            counts.append(noisy.values)
        receipt = (yield Account()).receipt
        return released(tree, levels, counts, receipt, question.seed)


def released(
    tree: HST, levels: tuple[int, ...], counts: Sequence[Any], receipt: Receipt, seed: int
) -> Release:
    """The release of these levels' counts; weights are those of the last one."""
    weights = np.zeros(tree.n_points)
    if levels:
        at = tree.labels_at(levels[-1])
        weights = (np.asarray(counts[-1]) / np.bincount(at))[at]
    return Release(
        tree.universe,
        weights,
        receipt,
        method=PrintedHST.name,
        search=chosen,
        tree=tree,
        levels=levels,
        each=counts,
        seed=seed,
    )


def chosen(release: Any, question: Question) -> NDArray[np.int64]:
    """Centers (k,): the paper's clusters are named by the point that is first in the random
    order, and a walk ends at that one.
    """
    tree: HST = release.tree
    last = release.levels[-1] if release.levels else 0
    score, first = scores(release, question.power)
    found: NDArray[np.int64] = hst_init(
        tree,
        first,
        question.k,
        candidates=question.candidates,
        opened=question.opened,
        known=tree.level <= last,
        score=score,
        rank=np.random.default_rng([release.seed, tree.seed]).permutation(tree.n_points),
    )
    return found


def scores(release: Any, power: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of every node, (n_nodes,) each: the best score ``count · 2**(power · h)`` of its counted
    levels, and the count at its first one; minus infinity where there is none.
    """
    tree: HST = release.tree
    score, first = np.full((2, tree.n_nodes), -np.inf)
    for level, noisy in zip(release.levels, release.each):
        at = tree.nodes_at(level)
        new = tree.level[at] == level
        first[at[new]] = noisy[new]
        score[at] = np.maximum(score[at], noisy * 2.0 ** (power * (release.levels[-1] - level)))
    return score, first
