"""What a method is offered and what it may ask: the public terms of a call's budget with the noise
that shares of it buy, and the requests that a runner puts to the gate.

A method is a generator. It yields requests, is sent the answers, and returns a release or a
`Result`. It holds no demand, ledger or budget slice. The gate decides what a request may be about
and what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from metricdp.accounting import Cost, selection_epsilon, zcdp_epsilon
from metricdp.accounting.binding import Capped
from metricdp.accounting.cost import ZCDP, gaussian_scale, laplace_scale
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import WholeBox
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy.caps import squared_sensitivity
from metricdp.privacy.queries import CountQuery, HistogramQuery, Query, SumsQuery
from metricdp.privacy.scores import CoverQuery, SelectionQuery
from metricdp.protocols import Partition
from metricdp.releases import Neighboring, Receipt, Release, Unit

Steps = Generator[Any, Any, Any]
"""A running method: it yields requests, is sent answers, and returns a release or a result."""
Work = Callable[[Any], Steps]
"""From the terms of a budget to the steps that spend it."""


def driven(work: Steps, put: Callable[[Any], Any]) -> Any:
    """Run a method, with `put` to answer its requests, and return what it returns."""
    answer: Any = None
    while True:
        try:
            request = work.send(answer)
        except StopIteration as end:
            return end.value
        answer = put(request)


@dataclass(frozen=True, eq=False)
class Image:
    """What a request is about: all records, or their image under public maps or samples, applied
    one after another.

    `universe`: of the image; `how`: the last step, by its `rule` (a partition, map, tree or share),
    applied to the image `of`.
    """

    universe: Any
    how: Literal["all", "moved", "mapped", "preaggregated", "subsampled"] = "all"
    rule: Any = None
    of: Image | None = None

    def moved(self, partition: Partition, universe: Any) -> Image:
        """Each record moved to the point whose position is the number of its part."""
        return Image(universe, "moved", partition, self)

    def mapped(self, rule: Any, space: EuclideanSpace) -> Image:
        """Each record mapped by a public map."""
        return Image(space, "mapped", rule, self)

    def preaggregated(self, tree: ShiftedQuadtree) -> Image:
        """The same records, read once for all cells of a tree."""
        return Image(self.universe, "preaggregated", tree, self)

    def subsampled(self, share: float) -> Image:
        """A Poisson subsample: each record with this probability, independently."""
        return Image(self.universe, "subsampled", share, self)


class Ask(NamedTuple):
    """A query for a share of the budget; answered by a `metricdp.releases.Release`."""

    query: Query
    share: Fraction
    image: Image | None = None


class Select(NamedTuple):
    """A selection for a share of the budget; answered by the index of a candidate."""

    query: SelectionQuery
    share: Fraction
    image: Image | None = None


class Cover(NamedTuple):
    """A cover for a share of epsilon and the rest of delta; answered by the sets selected."""

    query: CoverQuery
    share: Fraction


class Within(NamedTuple):
    """Steps with a smaller budget of their own; answered by what they return."""

    cost: Cost
    work: Work
    image: Image | None = None


class Parts(NamedTuple):
    """Steps on every part of a public partition, each with its own epsilon: parallel composition;
    answered by the list of what they return.
    """

    partition: Partition
    epsilons: Sequence[Fraction]
    works: Sequence[Work]
    name: str


class Account(NamedTuple):
    """A question about the budget: answered by a `Statement`."""


class Statement(NamedTuple):
    """The share of the budget that is `left`, all `receipts` so far, and one `receipt` of all."""

    left: Fraction
    receipts: tuple[Receipt, ...]
    receipt: Receipt


COUNT_SHARE = Fraction(1, 20)
"""Share for the number of records: small, as that only sets how fine a release is."""
SUM_BITS = 12
"""Bits of the integers in which records' offsets are summed: a clipped offset has length 2^12."""


@dataclass(frozen=True)
class Terms:
    """The public terms of a call: its `price`, and the contribution bound of a `unit`.

    Shares are fractions of the price's rho (if `in_rho`) or epsilon. A unit contributes at most
    `max_contributions`, counted in `weight_units`, within `caps`.
    """

    price: Cost
    neighboring: Neighboring
    max_contributions: int = 1
    weight_units: int = 1
    unit: Unit = "record"
    caps: Capped | None = None

    @property
    def in_rho(self) -> bool:
        """Whether shares are fractions of rho, and noise is Gaussian."""
        return self.price.in_rho and self.price.rho is not None

    def at(self, price: Cost) -> Terms:
        """The same unit at another price."""
        return replace(self, price=price)

    @classmethod
    def offered(cls, epsilon: Any, delta: Any) -> Terms:
        """Terms of one record and a budget (epsilon, delta)."""
        return cls(Cost.of(epsilon, delta), "add-remove")

    def part(self, share: Fraction) -> Any:
        """A share of the budget as the gate takes it: an epsilon, or a cost in rho."""
        if not self.in_rho:
            return self.price.epsilon * share
        rho = (self.price.rho or 0) * share
        return Cost(zcdp_epsilon(rho, self.price.delta), self.price.delta, rho, ZCDP)

    def cost(self, share: Fraction) -> Cost:
        """A share of the budget as a cost."""
        return Cost.of(self.part(share))

    def selection(self, share: Fraction) -> Fraction:
        """The epsilon of a selection for a share of the budget."""
        if not self.in_rho:
            return self.price.epsilon * share
        return selection_epsilon(replace(self.price, rho=(self.price.rho or 0) * share), 1)

    def scale_of(self, asked: Ask) -> float:
        """Scale of the noise of an answer; 0 where it is exact."""
        query, share, _ = asked
        sensitivity = query.sensitivity(self.neighboring, self.max_contributions)
        if not sensitivity:
            return 0.0
        if self.in_rho:
            m, caps = self.max_contributions, self.caps
            square = squared_sensitivity(query, self.neighboring, m, caps)
            return gaussian_scale(square, (self.price.rho or Fraction(0)) * share)
        return laplace_scale(sensitivity, self.price.epsilon * share)

    def scale_of_counts(self, share: Fraction, *, capped: bool = False) -> float:
        """Scale of the Laplace noise of a histogram for a share; where noise is Gaussian, the scale
        of Laplace noise of the same variance. `capped`: each part lies in one area of the caps.
        """
        sides = 1 if self.neighboring == "add-remove" else 2
        if not self.in_rho:
            return self.max_contributions * sides / float(self.price.epsilon * share)
        square: int = self.max_contributions**2
        if capped and self.caps is not None:
            square = self.caps.square
        return math.sqrt(square * sides / (4 * float((self.price.rho or 1) * share)))

    def deviation_of_counts(self, share: Fraction) -> float:
        """Standard deviation of that noise."""
        return self.scale_of_counts(share) * math.sqrt(2.0)

    def deviation_of_sums(self, space: EuclideanSpace, share: Fraction) -> float:
        """Standard deviation of a sum's noise in one coordinate, in units of the clipping
        radius.
        """
        scale = self.scale_of(Ask(clipped_sums(WholeBox(space)), share))
        return scale * (1.0 if self.in_rho else math.sqrt(2.0)) / (1 << SUM_BITS)

    def nothing(self) -> Receipt:
        """The receipt of a call that asked nothing."""
        return Receipt.of([], self.neighboring, self.unit, self.weight_units)


class Records(NamedTuple):
    """The number of records as far as it is known: a noisy count, with its `release`, or the
    caller's guess, without one.
    """

    number: float
    release: Release | None


def count_records(
    terms: Terms, share: Fraction, hint: float | None, image: Image | None = None
) -> Generator[Ask, Release, Records]:
    """The number of records: counted for a share of the budget, or the caller's guess, free."""
    if hint is not None:
        return Records(float(hint) * terms.weight_units, None)
    count = yield Ask(CountQuery(), share, image)
    return Records(float(count.values[0]), count)


def price_in_shares(terms: Terms) -> Cost:
    """Epsilon alone, or rho where there is a delta."""
    cost = terms.price
    return Cost.zcdp(cost.epsilon, cost.delta) if cost.delta and cost.epsilon > 0 else cost


def level_shares(factor: Fraction, n_levels: int) -> list[Fraction]:
    """Shares of levels or steps, each `factor` times the one before; they add up to exactly 1."""
    weights = [factor**i for i in range(n_levels)]
    return [weight / sum(weights) for weight in weights]


def shares_of_rest(shares: list[Fraction]) -> list[Fraction]:
    """Each share as a fraction of what the earlier ones leave."""
    return [share / sum(shares[i:]) for i, share in enumerate(shares)]


def counts_of(universe: Any) -> HistogramQuery:
    """A histogram of one part: all histograms of a universe have the same sensitivity."""
    return HistogramQuery(WholeBox(universe))


def clipped_sums(
    cells: Partition, centers: Any = None, radii: Any = None, *, folded: bool = False
) -> SumsQuery:
    """The query for the sums of records' offsets from their cell's center, clipped at a radius."""
    if radii is not None:
        radii = np.maximum(radii, least_radius(cells.universe))
    return SumsQuery(HistogramQuery(cells), SUM_BITS, centers, radii, folded)


def least_radius(space: Any) -> float:
    """The smallest clipping radius of sums of a box's records."""
    return float(space.diameter_bound() * 2.0**-19)


def deviation(release: Release) -> float:
    """Standard deviation of a release's noise."""
    noise = release.receipt.mechanisms[0]
    return noise.scale if noise.rho is not None else noise.scale * math.sqrt(2.0)
