"""Shared by the baselines: a budget in shares, and noisy means of the parts of a public partition
of the box.

**Privacy.** All reads are histograms (`HistogramQuery`) and sums (`SumsQuery`) about parts that
public coins and earlier releases determine. Their shares add up to at most 1: of rho, with discrete
Gaussian noise, where there is a delta; else of epsilon, with discrete Laplace noise. So zCDP or
sequential composition applies.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from metricdp.accounting.cost import MIN_EPSILON
from metricdp.arguments import Bools, Floats, positive
from metricdp.errors import InputError
from metricdp.methods.asking import Ask, Terms, clipped_sums, deviation
from metricdp.methods.demand_release import Release
from metricdp.methods.method import Composition, Method
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.cells import WholeBox
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Receipt
from metricdp.releases import Release as Noisy

COUNTS_SHARE = Fraction(1, 4)
"""Share of the counts in the budget of averages; the rest is for the sums."""


class Averages(NamedTuple):
    """Noisy counts (n_parts,) and means (n_parts, d) of parts, and which counts exceed both one
    standard deviation of noise and 1.
    """

    counts: Floats
    means: Floats
    above_noise: Bools

    def at(self, kept: Bools) -> Averages:
        """The averages of some parts."""
        return Averages(self.counts[kept], self.means[kept], self.above_noise[kept])


def averages(
    space: EuclideanSpace,
    query: HistogramQuery,
    count_share: Fraction,
    sum_share: Fraction,
    radius: float,
    around: Any = None,
) -> Generator[Ask, Noisy, Averages]:
    """Noisy means of all parts: noisy sums of the records' offsets over noisy counts."""
    counted = yield Ask(query, count_share)
    sums = clipped_sums(query.partition, around, np.full(query.n_parts, radius))
    summed = yield Ask(sums, sum_share)
    counts = counted.values.astype(float)
    above_noise = counts > max(deviation(counted), 1.0)
    offset = summed.values.reshape(-1, space.dimension) * sums.steps[:, None]
    offset /= np.where(above_noise, counts, 1.0)[:, None]
    means = space.clip(sums.centers + np.where(above_noise[:, None], offset, 0.0))
    return Averages(counts, means, above_noise)


@dataclass(frozen=True, kw_only=True)
class Baseline(Method):
    """A method for demand in a box whose budget is spent in shares.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP:
    `metricdp.methods.baselines.averages`.

    Parameters
    ----------
    radius : float, optional
        A public bound of the records' distances from the middle of the box: by default half its
        diagonal. Records outside are moved onto that ball.
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
        """The smallest share of the budget of a read."""
        return Fraction(1, 4)

    def reach(self, space: EuclideanSpace) -> float:
        """The clipping radius: at most half the box's diagonal."""
        half = space.diameter_bound() / 2
        return half if self.radius is None else min(float(self.radius), half)

    def composition(self, offer: Terms) -> Composition:
        """rho: every share is paid in it."""
        return "rho"

    def least(self, terms: Terms, question: Any) -> Iterable[Ask]:
        """Sums for the smallest share."""
        if not terms.in_rho and terms.price.epsilon * self.least_share < MIN_EPSILON:
            raise InputError(
                f"epsilon must be at least {float(MIN_EPSILON / self.least_share):g} for the "
                f"method {self.name}"
            )
        return [Ask(clipped_sums(WholeBox(question.space)), self.least_share)]


def release_of(
    method: str, partition: Any, found: Averages, receipt: Receipt, search: Any = None
) -> Release:
    """The release of noisy means, weighted by noisy counts."""
    return Release(
        EuclideanMetric(found.means),
        np.maximum(found.counts, 0.0),
        receipt,
        space=partition.universe,
        method=method,
        partition=partition,
        search=search,
    )
