"""What the baselines share: a budget spent in shares, and noisy averages of the parts of a public
partition of the box.

**Privacy.** All reads are histograms (`HistogramQuery`) and sums (`SumsQuery`) of parts that public
coins and earlier releases alone determine, and, in `balcan`, selections. They are paid from one
grant in shares that add up to at most 1: of rho, with discrete Gaussian noise, where there is a
delta, else of epsilon, with discrete Laplace noise. So together they are (epsilon, delta)-DP by
zCDP composition, or epsilon-DP by sequential composition.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost, Grant
from metricdp.accounting.ledger import MIN_EPSILON
from metricdp.arguments import positive
from metricdp.errors import InputError
from metricdp.methods.box.space_release import BITS, BoxRelease, deviation, starts_for
from metricdp.methods.method import Method
from metricdp.methods.question import Question
from metricdp.methods.shares import Purse, affordable, purse_price
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.privacy import HistogramQuery, PrivateDemand, Query, SumsQuery
from metricdp.releases import Neighboring, Receipt, Release
from metricdp.solvers.lloyd import lloyd
from metricdp.solvers.stopping import Deadline

Array = NDArray[np.float64]


class Averages(NamedTuple):
    """Noisy counts and means of parts, and which counts exceed one standard deviation of their
    noise (and 1).
    """

    counts: Array
    means: Array
    told: NDArray[np.bool_]

    def at(self, kept: NDArray[np.bool_]) -> Averages:
        """Those of some parts."""
        return Averages(self.counts[kept], self.means[kept], self.told[kept])


class Funds(Purse):
    """A grant spent in shares of the whole, and how much of it is left."""

    def __init__(self, demand: PrivateDemand, grant: Grant) -> None:
        super().__init__(demand, grant, Fraction(1))
        self.left = Fraction(1)

    def ask(self, query: Query, share: Fraction, demand: PrivateDemand | None = None) -> Release:
        """As a purse's."""
        self.left -= share
        return super().ask(query, share, demand)

    def part(self, share: Fraction) -> Grant:
        """A grant of a share, to be spent elsewhere."""
        self.left -= share
        return self.grant.charge(self.price(share))

    def averages(
        self,
        query: HistogramQuery,
        count_share: Fraction,
        sum_share: Fraction,
        radius: float,
        around: Any = None,
    ) -> Averages:
        """Noisy means of all parts: noisy sums of the records' offsets over noisy counts.

        Parameters
        ----------
        query : HistogramQuery
        count_share, sum_share : Fraction
        radius : float
            Public: offsets farther than this are moved onto the ball.
        around : ndarray of float64, shape (n_parts, d), optional
            From where offsets are taken: the middle of the box by default. It is the mean of parts
            whose count is not `told`.
        """
        space: Any = self.demand.universe
        counted = self.ask(query, count_share)
        summed = SumsQuery(
            query,
            BITS,
            around,
            np.full(query.n_parts, max(radius, space.diameter_bound() * 2.0**-19)),
        )
        noisy = self.ask(summed, sum_share)
        counts = counted.values.astype(float)
        told = counts > max(deviation(counted), 1.0)
        offset = (
            noisy.values.reshape(-1, space.dimension)
            * summed.steps[:, None]
            / np.where(told, counts, 1.0)[:, None]
        )
        return Averages(
            counts, space.clip(summed.centers + np.where(told[:, None], offset, 0.0)), told
        )


@dataclass(frozen=True, kw_only=True)
class Baseline(Method):
    """A method for demand in a box whose budget is spent in shares.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP:
    `metricdp.methods.baselines.averages`.

    Parameters
    ----------
    radius : float, optional
        A public bound of the records' distances from the middle of the box, which its half diagonal
        is by default. Records outside count as if they lay on that ball.
    """

    in_finite = False
    in_space = True

    radius: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None:
            positive(self.radius, "radius")

    @property
    def least_share(self) -> Fraction:
        """The smallest share of the budget that a read gets."""
        return Fraction(1, 4)

    def reach(self, space: EuclideanSpace) -> float:
        """The radius, at most that of the ball that holds the box."""
        half = space.diameter_bound() / 2
        return half if self.radius is None else min(float(self.radius), half)

    def price(self, epsilon: Any, delta: Any) -> Cost:
        """Epsilon alone, or a pool of rho where there is a delta."""
        return purse_price(epsilon, delta)

    def check(
        self, demand: PrivateDemand, question: Question, price: Cost, neighboring: Neighboring
    ) -> None:
        """Refuse an epsilon too small for the noise."""
        space: Any = demand.universe
        affordable(demand, space, price, self.least_share, neighboring)
        if not price.pooled and price.epsilon * self.least_share < MIN_EPSILON:
            raise InputError(
                f"epsilon must be at least {float(MIN_EPSILON / self.least_share):g} for the "
                f"method {self.name}"
            )


class MeansRelease(BoxRelease):
    """Noisy means and counts of the parts of a partition of the box: a coreset for any number of
    questions.

    Attributes
    ----------
    universe : EuclideanMetric
        The means.
    space : EuclideanSpace
    partition : Partition
    weights : ndarray of float64, shape (n_means,), read-only
        Noisy counts, not negative.
    receipt : Receipt
    """

    def __init__(self, method: str, partition: Any, found: Averages, receipt: Receipt) -> None:
        self.method, self.space, self.partition = method, partition.universe, partition
        super().__init__(
            EuclideanMetric(found.means), np.maximum(found.counts, 0.0), receipt, in_space=True
        )

    def __repr__(self) -> str:
        return (
            f"MeansRelease({self.method}, {self.space.name}, {len(self.weights):,} means, epsilon "
            f"{float(self.receipt.epsilon):g})"
        )

    def _found(self, k: int, power: int, seed: int, deadline: Deadline) -> Array:
        points: Array = self.universe.points  # type: ignore[attr-defined]
        return lloyd(
            points, self.weights, k, power=power, seed=seed, starts=starts_for(k), deadline=deadline
        )
