"""DP-HST: centers from a public tree's noisy counts (Fan, Li & Li, NeurIPS 2023)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from metricdp.accounting import Cost
from metricdp.arguments import count
from metricdp.methods.asking import COUNT_SHARE, Ask, Steps, Terms, counts_of, level_shares
from metricdp.methods.demand_release import Release
from metricdp.methods.finite.hst_counts import (
    MOST_LEVELS,
    TreeCounts,
    checked_budget,
    count_levels,
    shares_of_noise,
)
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import Question
from metricdp.metrics.base import Metric
from metricdp.partitions.finite.hst import HST
from metricdp.partitions.finite.hst_levels import checked_tree, tree_for

_TYPICAL_LEVELS = 4
"""Number of levels by which the kind of noise is chosen before theirs is known."""


def release_of(universe: Metric, counts: TreeCounts) -> Release:
    """The release of a tree's noisy counts: weights of the points, estimated from them."""
    weights = (counts.above_noise()[0] / counts.tree.sizes)[counts.tree.leaf]
    return Release(universe, weights, counts.receipt, method="hst", counts=counts)


@dataclass(frozen=True, kw_only=True)
class DPHST(Method):
    """Noisy counts of the clusters of a public 2-HST, level by level; centers from consistent
    counts.

    **Privacy.** epsilon-DP, or (epsilon, delta)-DP where a delta is given and buys less noise:
    `metricdp.methods.finite.hst_counts`.

    Parameters
    ----------
    tree : HST, optional
        Of the same universe object; by default built with the question's seed, and cached.
    budget : {"rising", "uniform", "geometric"} or float
        A level's budget over that of the level above it: 3 (the default: it measured best), 1, 1/2
        (the paper), or that factor. The shares add up to 1 exactly.
    levels : int, optional
        How many levels are counted, the highest first, of those at which a cluster splits. By
        default as many as the number of records can fill; that number costs a share of the budget,
        unless it is public or guessed by `records_hint`.

    References
    ----------
    Fan, Li & Li, k-median clustering via metric embedding: towards better initialization with
    differential privacy (NeurIPS 2023). Hay, Rastogi, Miklau & Suciu, Boosting the accuracy of
    differentially private histograms through consistency (VLDB 2010).

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> method = mdp.methods.DPHST()
    >>> len(set(mdp.k_median(metric, demand, k=2, epsilon=4, method=method).centers))
    2
    """

    name = "hst"
    chooses = (
        "The tree is made of the universe and public coins; the number of records is bought as a "
        "noisy count for 5 % of epsilon, unless it is public (replace-one) or guessed "
        "(records_hint). Level budgets are fixed shares."
    )
    afterwards = (
        "Counts of the tree's nodes are made consistent; centers by a public solver on them."
    )
    one_way = True
    adds_up = True
    releases = True

    tree: HST | None = None
    budget: Any = None
    levels: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_tree(self.tree)
        self._factor  # noqa: B018 - its checks
        if self.levels is not None:
            count(self.levels, "levels")

    @property
    def _factor(self) -> Fraction:
        return checked_budget("rising" if self.budget is None else self.budget)

    def composition(self, offer: Terms) -> Composition:
        """rho if Gaussian noise has the smaller sum of variances over all levels."""
        gaussian = Cost.zcdp(offer.price.epsilon, offer.price.delta)
        by_laplace, by_gauss = shares_of_noise(self._shares(_TYPICAL_LEVELS), gaussian)
        return "rho" if by_gauss < by_laplace else "epsilon"

    def least(self, terms: Terms, question: Question) -> Iterable[Ask]:
        """A count for the smallest share; refuses the tree of another universe."""
        if self.tree is not None:
            tree_for(self.tree, question.metric, 0)
        share = min(*self._shares(), COUNT_SHARE) * Fraction(9, 10)
        return [Ask(counts_of(question.metric), share)]

    def work(self, terms: Terms, question: Question) -> Steps:
        """The release of the levels' counts."""
        tree = tree_for(self.tree, question.metric, question.seed)
        counts = yield from count_levels(terms, tree, self._factor, self.levels, self.records_hint)
        return release_of(question.metric, counts)

    def _shares(self, levels: int = MOST_LEVELS) -> list[Fraction]:
        return level_shares(self._factor, self.levels or levels)
