"""Noise of several holders, who each add a share: only the sum of their counts is noisy enough.

With n holders, of whom c may collude, each adds discrete Gaussian noise of the total variance
divided by n - c. `excess` prices how far a sum of discrete Gaussians is from one [1]_; small shares
are drawn in units of 1 / 2^bits of a record. `gate.contribute` masks each sum modulo 2^64, and all
masks add up to 0.

**Privacy.** Proof P17 (``docs/proofs/17-shares.md``): the sum of all holders' noisy counts is
rho-zCDP, also for who knows c of the shares.

References
----------
.. [1] P. Kairouz, Z. Liu, T. Steinke, "The distributed discrete Gaussian mechanism for federated
   learning with secure aggregation", ICML 2021, section 3.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost
from metricdp.arguments import integer
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.privacy.noise import DiscreteGaussian, Noise
from metricdp.privacy.queries import Query
from metricdp.releases import Mechanism, Neighboring

MOST_HOLDERS = 1024
MOST_BITS = 16
"""With them, sums of 2^35 records of each holder in a part do not wrap."""
ROOM = Fraction(1, 2**30)
"""Share of rho for the gap between a sum of discrete Gaussians and one of them."""


class GaussianShares(Noise):
    """One holder's share of discrete Gaussian noise.

    **Privacy.** Of the sum, not of one share: see the module, and P17.

    Parameters
    ----------
    sensitivity, squared_sensitivity : int
        Of the sum of all holders' answers, in L1 and in squared L2; at least 1.
    cost : Cost
        With rho: of the sum.
    holders : int
        n: how many add a share.
    honest : int
        m: how many of them are counted on, 1 to n.

    Attributes
    ----------
    scale : float
        Of one share, in units of 1 / 2^bits.
    bits : int
    deviation : float
        Standard deviation of all n shares together, in records.

    Raises
    ------
    InputError
        No such numbers of holders; a rho beyond what exact samplers draw.

    Examples
    --------
    >>> from metricdp.accounting import Cost
    >>> from metricdp.privacy.shares import GaussianShares
    >>> shares = GaussianShares(1, 1, Cost.zcdp(1, "1e-6"), holders=20, honest=19)
    >>> shares.bits, round(shares.scale, 2), round(shares.deviation, 2)
    (1, 2.08, 4.65)
    """

    proof: ClassVar[int] = 17

    name = "discrete Gaussian in shares"

    def __init__(
        self,
        sensitivity: int,
        squared_sensitivity: int,
        cost: Cost,
        holders: int,
        honest: int,
    ) -> None:
        n, m = integer(holders) or 0, integer(honest) or 0
        if not 2 <= n <= MOST_HOLDERS or not 1 <= m <= n:
            raise InputError(
                f"shares of noise are for 2 to {MOST_HOLDERS:,} holders, of whom fewer collude "
                f"than there are"
            )
        if min(sensitivity, squared_sensitivity) < 1 or not cost.rho:
            raise InputError("shares of noise need a query that a unit moves, and a cost with rho")
        spent, room = m * cost.rho * (1 - ROOM), float(ROOM * cost.rho)
        for bits in range(MOST_BITS + 1):
            whole = DiscreteGaussian(squared_sensitivity * 4**bits, Cost(Fraction(0), rho=spent))
            if 2 * sensitivity * excess(whole.scale, m) <= room:
                break
        else:
            raise InputError(f"rho {float(cost.rho):g} is too much for noise in shares")
        self.scale, self.cost, self.bits = whole.scale, cost, bits
        self.holders = n
        self.deviation = whole.scale * math.sqrt(n) / 2**bits
        self._mechanism = whole._mechanism

    @classmethod
    def of(
        cls,
        query: Query,
        neighboring: Neighboring,
        max_contributions: int,
        cost: Cost,
        holders: int,
        honest: int,
    ) -> GaussianShares:
        """The shares of a query's noise.

        Examples
        --------
        >>> from metricdp.accounting import Cost
        >>> from metricdp.privacy import CountQuery
        >>> cost = Cost.zcdp(1, "1e-6")
        >>> GaussianShares.of(CountQuery(), "add-remove", 1, cost, holders=2, honest=1).bits
        0
        """
        sensitivity = query.sensitivity(neighboring, max_contributions)
        square = query.squared_sensitivity(neighboring, max_contributions)
        return cls(sensitivity, square, cost, holders, honest)

    def masked(self, counts: NDArray[np.int64], mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Counts and a share of noise under a mask, modulo 2^64.

        Counts saturate where n times as many would wrap, each by itself, which shrinks differences.
        """
        most = CAP // (self.holders << self.bits)
        held = np.clip(counts, -most, most) << self.bits
        noise = self(np.zeros(len(counts), np.int64))
        return held.view(np.uint64) + noise.view(np.uint64) + mask

    def total(self, sums: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Records, from the sum of what all holders sent: to the nearest integer, halves to even.

        Examples
        --------
        >>> import numpy as np
        >>> from metricdp.accounting import Cost
        >>> shares = GaussianShares(1, 1, Cost.zcdp(1, "1e-6"), holders=20, honest=19)
        >>> shares.total(np.array([7, 10, 2**64 - 3], np.uint64))
        array([ 4,  5, -2])
        """
        found = sums.view(np.int64)
        down = found >> self.bits
        twice = 2 * (found - (down << self.bits))
        unit = 1 << self.bits
        answer: NDArray[np.int64] = down + ((twice > unit) | ((twice == unit) & (down % 2 == 1)))
        return answer

    def mechanism(self, query: Query, sensitivity: int) -> Mechanism:
        """What a receipt says of the sum."""
        cost, proofs = self.cost, tuple(sorted({query.proof, DiscreteGaussian.proof, self.proof}))
        price = (cost.epsilon, cost.delta, cost.rho)
        return Mechanism(self.name, str(query), sensitivity, self.deviation, *price, proofs=proofs)


def excess(scale: float, shares: int) -> float:
    """Largest log ratio of the probabilities of an integer as a sum of so many discrete Gaussians
    and as one of the summed variance, rounded up (P17): at most ``(shares - 1) · ln((1 + q) / (1 -
    q))`` with ``q = 2·sum(exp(-(pi·scale·j)²), j = 1, 2, …)``.
    """
    if shares == 1:
        return 0.0
    first = math.exp(-((math.pi * scale) ** 2))
    q = 2 * first / (1 - first**3)
    return math.inf if q >= 0.5 else (shares - 1) * 2 * math.atanh(q) * (1 + 1e-9)
