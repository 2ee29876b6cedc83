"""The default method: one public partition, one noisy histogram, a posterior estimate, any number
of questions.

1. Pay 5 % of epsilon for the number of records, unless it is public (replace-one) or guessed
   (`records_hint`).
2. Cut the public hierarchy of the universe into M parts, M from the noise scale and that number.
3. Release the histogram of the parts with the rest of epsilon.
4. Estimate the true counts (posterior mean on the hierarchy), spread each over its part's public
   points.
5. Solve on those weights, for any k, as often as asked.

**Privacy.** Steps 1 and 3 are the only reads: epsilon-DP together by sequential composition
(`privacy.queries`, `privacy.noise`). M depends on step 1's noisy output and public facts, so the
histogram's partition is chosen adaptively from released values only; 2, 4 and 5 are
post-processing. Nothing else is computed from the demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost
from metricdp.methods.demand_release import DemandRelease
from metricdp.methods.method import Method
from metricdp.methods.question import NET_POINTS, Question
from metricdp.methods.result import Result
from metricdp.methods.shares import COUNT_SHARE
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.finite.hst import HST
from metricdp.partitions.finite.hst_levels import checked_tree, tree_for
from metricdp.partitions.finite.hst_partition import HSTHierarchy
from metricdp.partitions.finite.ward import PartitionTree, hierarchy
from metricdp.privacy import CountQuery, Grant, HistogramQuery, PrivateDemand, measure
from metricdp.privacy.noise import laplace_scale
from metricdp.releases import Neighboring, Receipt, Release
from metricdp.solvers.estimate.tree_posterior import posterior_mean

PARTS_FACTOR, PARTS_POWER, FEWEST_PARTS = 0.6, 0.8, 16


class SpacePartition:
    """A partition of a box in R^d: a point belongs to the part of its nearest net point."""

    def __init__(self, space: EuclideanSpace, tree: PartitionTree) -> None:
        self.universe, self.tree, self.n_parts = space, tree, tree.n_parts

    def encode(self, records: NDArray[np.float64]) -> NDArray[np.int64]:
        """Part of each point, shape (n,)."""
        return self.tree.encode(self.tree.universe.snap(records))


class PartitionRelease(DemandRelease):
    """A private release of where the demand is, good for any number of questions.

    Attributes
    ----------
    universe : Metric
        The finite universe of the answers; for a box, a public net of its points.
    partition : PartitionTree
        The public partition.
    weights : ndarray of float64, shape (n_points,), read-only
        Estimated demand at every point, in the order of ``universe.ids``; noisy, not negative.
    histogram : Release
        The noisy counts themselves.
    receipt : Receipt
        What it cost.
    """

    method = "partition"

    def __init__(
        self,
        partition: PartitionTree,
        weights: NDArray[np.float64],
        histogram: Release,
        receipt: Receipt,
        *,
        space: EuclideanSpace | None = None,
    ) -> None:
        super().__init__(partition.universe, weights, receipt, space=space)
        self.partition, self.histogram = partition, histogram

    def __repr__(self) -> str:
        return (
            f"PartitionRelease({self.universe.name}, {self.partition.n_parts:,} parts, epsilon "
            f"{float(self.receipt.epsilon):g})"
        )


@dataclass(frozen=True, kw_only=True)
class Partition(Method):
    """The default method: `partition_release`, then the solver on its weights.

    **Privacy.** epsilon-DP, by the module's text; a delta would buy nothing for one histogram, and
    is not spent.

    Parameters
    ----------
    tree : HST, optional
        Cut this public 2-HST of the very universe, in place of the Ward tree.
    """

    name = "partition"
    summary = "noisy counts of public parts"
    in_space = True
    releases = True

    tree: HST | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_tree(self.tree)

    def release(self, demand: PrivateDemand, grant: Grant, seed: int) -> PartitionRelease:
        """Spend the whole grant on a release alone."""
        return partition_release(
            demand.universe,
            demand,
            grant,
            records_hint=self.records_hint,
            seed=seed,
            tree=self.tree,
        )

    def check(
        self, demand: PrivateDemand, question: Question, price: Cost, neighboring: Neighboring
    ) -> None:
        """Refuse a tree of another universe, and an epsilon too small for the noise."""
        if self.tree is not None:
            tree_for(self.tree, question.metric, 0)
        check_noise(demand, price.epsilon, neighboring)

    def answer(self, demand: PrivateDemand, grant: Grant, question: Question) -> Result:
        """Centers, and the release they were computed from."""
        return self.release(demand, grant, question.seed).answer(question)


def partition_release(
    universe: Metric | EuclideanSpace,
    demand: PrivateDemand,
    grant: Grant,
    *,
    records_hint: float | None = None,
    seed: int = 0,
    tree: HST | None = None,
) -> PartitionRelease:
    """Spend a whole grant on one release of the demand; see the module's text for the steps and the
    guarantee.

    Parameters
    ----------
    universe : Metric or EuclideanSpace
        The demand's own. A box is covered by a public net of 4,096 points.
    demand : PrivateDemand
    grant : Grant
        From `Ledger.charge`; all of it is spent.
    records_hint : float, optional
        A public guess of the number of records, which saves the paid count. Three times too large
        costs 1 or 2 % of accuracy.
    seed : int
        Public coins of the partition.
    tree : HST, optional
        Of the finite universe: cut in place of the Ward tree.

    Notes
    -----
    Time: that of the hierarchy (once a universe), of M parts and of the estimator, O(M) with a
    constant of some 10^5 operations.
    """
    receipts, total, total_scale = [], records_hint, 0.0
    if records_hint is None:
        count = measure(demand, CountQuery(), grant.left * COUNT_SHARE, grant)
        receipts.append(count.receipt)
        total, total_scale = float(count.values[0]), count.receipt.mechanisms[0].scale
    finite = universe.net(NET_POINTS, seed) if isinstance(universe, EuclideanSpace) else universe
    whole = hierarchy(finite, seed) if tree is None else HSTHierarchy(tree)
    parts = whole.cut(number_of_parts(float(total or 0.0), _noise_scale(demand, grant)))
    query = HistogramQuery(
        SpacePartition(universe, parts) if isinstance(universe, EuclideanSpace) else parts
    )
    histogram = measure(demand, query, grant.left, grant)
    scale = histogram.receipt.mechanisms[0].scale
    estimate = posterior_mean(
        parts,
        histogram.values,
        scale,
        None if records_hint is not None else total,
        max(total_scale, 0.5),
    )
    receipt = Receipt.combined([*receipts, histogram.receipt])
    space = universe if isinstance(universe, EuclideanSpace) else None
    return PartitionRelease(parts, parts.spread(estimate), histogram, receipt, space=space)


def number_of_parts(records: float, scale: float) -> int:
    """M = 0.6 · (records / scale)^0.8, at least 16: finer parts where there are many records per
    unit of noise.

    Public inputs only: `records` is a noisy count or a guess, `scale` the histogram's noise scale.
    The balance is that of Qardaji, Yang & Li (ICDE 2013) between noise and non-uniformity; the
    constants were measured (``benchmarks/partition_method.md``).
    """
    return max(FEWEST_PARTS, round(PARTS_FACTOR * max(records / scale, 0.0) ** PARTS_POWER))


def check_noise(demand: PrivateDemand, epsilon: Fraction, neighboring: Neighboring) -> None:
    """Refuse what the noise of `partition_release` would refuse, before anything is charged.

    Raises
    ------
    InputError
        `epsilon` is too small for the contributions of a unit: noise would overflow 64-bit
        integers.
    """
    laplace_scale(
        HistogramQuery.sensitivity_of(neighboring, demand.max_contributions), epsilon * COUNT_SHARE
    )


def _noise_scale(demand: PrivateDemand, grant: Grant) -> float:
    """Scale that a histogram paid with what is left of the grant will have, whatever its parts."""
    return HistogramQuery.sensitivity_of(grant.neighboring, demand.max_contributions) / float(
        grant.left
    )
