"""DP-HST: centers from noisy counts of the nodes of a public 2-HST, level by level (Fan, Li & Li,
NeurIPS 2023).

**Privacy.** A record is counted once in each level, so a level is one `HistogramQuery`. The levels'
shares are exact rationals that add up to 1 (sequential composition); the paper's ``epsilon / 2**(L
- i)`` add up to almost 2 epsilon. The number of levels is public or follows from the noisy number
of records.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.accounting import Cost
from metricdp.arguments import Bools, Floats, count, positive, shown
from metricdp.errors import InputError
from metricdp.kernels.hst import consistent_counts, counts_above_noise
from metricdp.methods.asking import (
    COUNT_SHARE,
    Account,
    Ask,
    Steps,
    Terms,
    count_records,
    counts_of,
    level_shares,
)
from metricdp.methods.demand_release import Release
from metricdp.methods.finite.rounds import PARTS_FACTOR, PARTS_POWER
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import Question
from metricdp.metrics.base import Metric
from metricdp.partitions.finite.hst import HST, checked_tree, tree_for
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Mechanism, Receipt

BUDGETS = {"geometric": Fraction(1, 2), "uniform": Fraction(1), "rising": Fraction(3)}
"""What each level gets of the budget of the level above it."""
FLOOR = 4.0
"""Standard deviations of noise above which a node's count is distinguished from 0."""
MOST_LEVELS = 8  # deeper ones get too little budget each


def checked_budget(budget: Any) -> Fraction:
    """The factor from a level's budget to the next one's, by name or as a positive number."""
    if isinstance(budget, str) and budget in BUDGETS:
        return BUDGETS[budget]
    names = ", ".join(map(repr, BUDGETS))
    if (
        isinstance(budget, str)
        or not 1e-3 <= positive(budget, f"budget, if none of {names},") <= 1e3
    ):
        raise InputError(
            f"budget must be {names} or a factor from 0.001 to 1000, got {shown(budget)}"
        )
    return Fraction(budget).limit_denominator(1000)


@dataclass(frozen=True, eq=False)
class TreeCounts:
    """Noisy counts of a tree's nodes at some `levels`: `measured` (n_nodes,), averaged by precision
    over the levels of a node, and the `variance` of the noise, infinite if not counted.
    """

    tree: HST
    levels: tuple[int, ...]
    measured: Floats
    variance: Floats
    receipt: Receipt

    def above_noise(self) -> tuple[Floats, Bools]:
        """Estimates that add up, of all nodes: least squares (Hay et al. 2010), spread evenly below
        the deepest nodes above the noise threshold; and which nodes are above it. Both of shape
        (n_nodes,).
        """
        parent, sizes = self.tree.parent, self.tree.sizes.astype(np.float64)
        estimate, variance = consistent_counts(parent, self.measured, self.variance, sizes)
        noise = FLOOR * np.sqrt(variance)
        found: tuple[Floats, Bools] = counts_above_noise(parent, estimate, noise, sizes)
        return found


def splitting_levels(tree: HST) -> list[int]:
    """The levels whose clusters differ from those above; of a tree of one node, the last."""
    return [int(level) for level in np.unique(tree.level[1:])] or [tree.n_levels - 1]


def count_levels(
    terms: Terms,
    tree: HST,
    factor: Fraction,
    levels: int | None = None,
    records_hint: float | None = None,
) -> Generator[Any, Any, TreeCounts]:
    """Release the counts of a tree's splitting levels for all that is left of the budget.

    `factor`: from a level's share to the next one's; `levels`: how many, by default as many as
    `number_of_levels` says.
    """
    left = Fraction(1)
    if levels is None:
        records = yield from count_records(terms, COUNT_SHARE, records_hint)
        left = (yield Account()).left
        levels = number_of_levels(tree, records.number, terms.scale_of_counts(left))
    counted = splitting_levels(tree)[:levels]
    total = np.zeros(tree.n_nodes)
    precision = np.zeros(tree.n_nodes)
    for level, share in zip(counted, level_shares(factor, len(counted))):
        noisy = yield Ask(HistogramQuery(tree.parts_at(level)), left * share)
        nodes = tree.nodes_at(level)
        weight = 1.0 / noise_variance(noisy.receipt.mechanisms[0])
        total[nodes] += weight * noisy.values
        precision[nodes] += weight
    with np.errstate(divide="ignore"):
        variance = 1.0 / precision
    measured = np.where(precision > 0, total / np.maximum(precision, 1e-300), 0.0)
    receipt = (yield Account()).receipt
    return TreeCounts(tree, tuple(counted), measured, variance, receipt)


def number_of_levels(tree: HST, records: float, scale: float) -> int:
    """Levels down to the last of at most 0.6 · (records / scale)^0.8 clusters: 1 to 8."""
    parts = PARTS_FACTOR * max(records / scale, 0.0) ** PARTS_POWER
    found: int = max(
        sum(len(tree.nodes_at(level)) <= parts for level in splitting_levels(tree)[:MOST_LEVELS]), 1
    )
    return found


def noise_variance(mechanism: Mechanism) -> float:
    """Variance of the noise of one count, at least 1/12, that of rounding."""
    if mechanism.name.startswith("discrete Gaussian"):
        return max(mechanism.scale**2, 1 / 12)
    ratio = np.exp(-1.0 / mechanism.scale)
    return max(float(2 * ratio / (1 - ratio) ** 2), 1 / 12)


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
    `metricdp.methods.finite.hst`.

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
        shares, rho = self._shares(_TYPICAL_LEVELS), gaussian.rho or Fraction(0)
        by_laplace = sum(2.0 / float(share * gaussian.epsilon) ** 2 for share in shares)
        by_gauss = sum(1.0 / (2.0 * float(share * rho)) for share in shares)
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
