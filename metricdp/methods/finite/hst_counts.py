"""Noisy counts of the nodes of a public 2-HST, level by level (Fan, Li & Li, NeurIPS 2023).

**Privacy.** A record is counted once in each level, so a level is one `HistogramQuery`. The levels'
shares are exact rationals that add up to 1 (sequential composition); the paper's ``epsilon / 2**(L
- i)`` add up to almost 2 epsilon. The number of levels is public or follows from the noisy number
of records.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.accounting import Cost
from metricdp.arguments import Bools, Floats, positive, shown
from metricdp.errors import InputError
from metricdp.kernels.hst_passes import consistent_counts, counts_above_noise
from metricdp.methods.asking import COUNT_SHARE, Account, Ask, Terms, count_records, level_shares
from metricdp.methods.finite.rounds import PARTS_FACTOR, PARTS_POWER
from metricdp.partitions.finite.hst import HST
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

    def consistent(self) -> tuple[Floats, Floats]:
        """Estimates that add up, of all nodes, and bounds of their variances, both of shape
        (n_nodes,).

        Least squares (Hay et al. 2010), evenly spread below the last level.
        """
        found: tuple[Floats, Floats] = consistent_counts(
            self.tree.parent, self.measured, self.variance, self.tree.sizes.astype(np.float64)
        )
        return found

    def above_noise(self, floor: float = FLOOR) -> tuple[Floats, Bools]:
        """Consistent estimates, spread evenly below the deepest nodes above the noise threshold;
        and which nodes are above it. Both of shape (n_nodes,).
        """
        estimate, variance = self.consistent()
        noise = np.where(np.isinf(variance), np.inf, floor * np.sqrt(variance))
        found: tuple[Floats, Bools] = counts_above_noise(
            self.tree.parent, estimate, noise, self.tree.sizes.astype(np.float64)
        )
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


def shares_of_noise(shares: Sequence[Fraction], cost: Cost) -> tuple[float, float]:
    """Sums of all levels' noise variances at sensitivity 1: (Laplace, Gaussian)."""
    laplace = sum(2.0 / float(share * cost.epsilon) ** 2 for share in shares)
    gauss = sum(1.0 / (2.0 * float(share * cost.rho)) for share in shares) if cost.rho else np.inf
    return laplace, gauss
