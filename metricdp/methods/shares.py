"""One grant spent in shares: what it costs, whether the shares are enough for the noise, and the
purse that holds them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.accounting import Cost, Grant, Pool, zcdp_epsilon
from metricdp.accounting.cost import ZCDP
from metricdp.methods.box.space_release import BITS, Cells
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import HistogramQuery, PrivateDemand, Query, SumsQuery, measure, thinned
from metricdp.privacy.noise import gaussian_scale, laplace_scale
from metricdp.releases import Neighboring, Receipt, Release


def purse_price(epsilon: Any, delta: Any) -> Cost:
    """Epsilon alone, or a pool of rho where there is a delta."""
    cost = Cost.of(epsilon, delta)
    return Cost.zcdp(cost.epsilon, cost.delta) if cost.delta and cost.epsilon > 0 else cost


def affordable(
    demand: PrivateDemand,
    space: EuclideanSpace,
    price: Cost,
    share: Fraction,
    neighboring: Neighboring,
    times: int = 1,
) -> None:
    """Refuse a price of which a share is too small for the noise of sums of records in a box, or of
    so many such sums.

    Raises
    ------
    InputError
    """
    sums, m = (
        SumsQuery(HistogramQuery(Cells(space, space.lower[None])), BITS),
        demand.max_contributions,
    )
    if price.pooled:
        gaussian_scale(
            times * sums.squared_sensitivity(neighboring, m), (price.rho or Fraction(0)) * share
        )
    else:
        laplace_scale(times * sums.sensitivity(neighboring, m), price.epsilon * share)


class Purse:
    """Shares of one grant, as much of its rho or of its epsilon, and the receipts of what they paid
    for.

    Parameters
    ----------
    demand : PrivateDemand
    grant : Grant
    whole : Fraction
        What the shares that will be asked for add up to.
    """

    def __init__(self, demand: PrivateDemand, grant: Grant, whole: Fraction) -> None:
        self.demand, self.grant, self.whole, self.receipts = demand, grant, whole, list[Receipt]()
        self.everyone = demand

    def price(self, share: Fraction) -> Any:
        """A share, as the gate takes it."""
        part = share / self.whole
        if isinstance(self.grant, Pool):
            rho = self.grant.rho * part
            return Cost(zcdp_epsilon(rho, self.grant.delta), self.grant.delta, rho, ZCDP)
        return self.grant.epsilon * part

    def thin(self, share: float) -> float:
        """From now on ask a random sample of the records, this share of them if it is less than 1
        (`everyone` stays); return the share.
        """
        if share < 1:
            self.demand = thinned(self.everyone, share)
        return min(share, 1.0)

    def spread(self, shares: Fraction) -> None:
        """From now on shares that add up to `shares` spend all that is left."""
        grant = self.grant
        left = (
            1 - grant.spent_rho / grant.rho
            if isinstance(grant, Pool)
            else grant.left / grant.epsilon
        )
        self.whole = shares / left

    @property
    def receipt(self) -> Receipt:
        """Of all that was asked: under the pool's price once all of a pool is spent, else what the
        mechanisms cost together.
        """
        if isinstance(self.grant, Pool) and self.grant.spent_rho < self.grant.rho:
            return Receipt.combined(self.receipts).paid(
                self.grant.spent, self.grant.spent_delta, ZCDP
            )
        return self.grant.receipt(self.receipts)

    def ask(self, query: Query, share: Fraction, demand: PrivateDemand | None = None) -> Release:
        """Measure, paid with a share; `demand` may be an image of the purse's own
        (`metricdp.privacy.mapped`).
        """
        release = measure(
            self.demand if demand is None else demand, query, self.price(share), self.grant
        )
        self.receipts.append(release.receipt)
        return release

    def count_noise(self, share: Fraction) -> float:
        """Standard deviation that the noise of a histogram paid with a share will have."""
        m = self.demand.max_contributions
        price = self.price(share)
        if isinstance(price, Cost):
            twice = 1 if self.grant.neighboring == "add-remove" else 2
            return float(np.sqrt(m * m * twice / (2 * float(price.rho or 1))))
        return (
            HistogramQuery.sensitivity_of(self.grant.neighboring, m) / float(price) * np.sqrt(2.0)
        )
