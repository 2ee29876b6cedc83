"""Integer noise mechanisms: discrete Laplace and discrete Gaussian noise from OpenDP, and shares of
it: each of several holders adds one, and only the sum has all the noise.

With n holders, of whom c may collude, the shares of n - c are as much noise as the cost requires.
For an epsilon alone they add up to discrete Laplace noise, exactly. For rho they are discrete
Gaussians: `excess` bounds the divergence of their sum from one discrete Gaussian [1]_, and small
shares are drawn in units of 1 / 2^bits of a record.

**Privacy.** Of shares: proof P17 (``docs/proofs/17-shares.md``): the sum of all holders' noisy
counts is epsilon-DP, or rho-zCDP, also against those who know c of the shares.

References
----------
.. [1] P. Kairouz, Z. Liu, T. Steinke, "The distributed discrete Gaussian mechanism for federated
   learning with secure aggregation", ICML 2021, section 3.
"""

from __future__ import annotations

import math
import os
from abc import ABC
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import BudgetSlice, Cost, ZCDPAccountant
from metricdp.accounting.cost import excess, gaussian_scale, laplace_scale, pure_rho
from metricdp.arguments import Bools, Ints, integer
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.privacy.queries import Query
from metricdp.progress import progress
from metricdp.releases import Mechanism, Neighboring

_BLOCK = 1 << 16
_BIASED = ("0.14.0", "0.14.1")
"""OpenDP versions with wrong samplers (issue 2638). 0.14.0 to 0.16.0 were tested."""


@cache
def opendp_version() -> str:
    """The installed version of OpenDP."""
    return version("opendp")


class Noise(ABC):
    """An additive mechanism of independent integer noise, with its `scale` and `cost`.

    OpenDP draws it exactly, by rational arithmetic ([1]_, algorithms 2 and 3) on bytes of OpenSSL's
    generator, seeded by the operating system and by nothing else. Sums saturate at the ends of
    int64, which is post-processing. Coordinates are independent, so that drawing them in blocks
    does not change the distribution.

    References
    ----------
    .. [1] C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy",
       NeurIPS 2020.
    """

    proof: ClassVar[int]
    """Number of the proof of its guarantee in docs/proofs."""

    name: str
    scale: float
    cost: Cost
    _mechanism: Any

    def mechanism(self, what: str, sensitivity: int, proofs: Iterable[int]) -> Mechanism:
        """The entry of a receipt. `proofs`: numbers of further proofs that it relies on."""
        cost, every = self.cost, tuple(sorted({*proofs, self.proof}))
        price = (cost.epsilon, cost.delta, cost.rho if cost.delta else None)
        return Mechanism(self.name, what, sensitivity, self.scale, *price, every)

    def _confirm(self, sensitivity: float, claim: Fraction) -> None:
        if opendp_version() in _BIASED:
            raise InputError(
                f"OpenDP {opendp_version()} draws noise of a wrong distribution: install 0.14.2 or "
                f"later"
            )
        # OpenDP's own bound, in floats rounded up
        if self._mechanism.map(sensitivity) > float(claim) * (1 + 1e-12):
            raise InputError("OpenDP does not confirm the privacy of this noise")

    def __call__(self, values: Ints) -> Ints:
        """Add noise to `values` (n_values,), from -2^61 to 2^61; about 6 s for 10^6."""
        if values.dtype != np.int64 or values.max(initial=0) > CAP or values.min(initial=0) < -CAP:
            raise AssertionError("an exact answer is beyond its stated range")
        noisy = np.empty(len(values), dtype=np.int64)
        with progress(total=len(values), label="adding noise", unit="count") as bar:
            for start in range(0, len(values), _BLOCK):
                block = values[start : start + _BLOCK].tolist()
                noisy[start : start + _BLOCK] = self._mechanism(block)
                bar.update(len(block))
        return noisy


@cache
def _vectors() -> Any:
    """OpenDP's domain of integer vectors. Not from its prelude, which loads sklearn and pandas."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.mod import enable_features

    enable_features("contrib")
    return vector_domain(atom_domain(T="i64"))


class DiscreteLaplace(Noise):
    """P(noise = z) = tanh(1 / (2 scale)) · exp(-abs(z) / scale).

    **Privacy.** *Neighboring, sensitivity*: those of the query, whose answers v, w on neighbors are
    at most `sensitivity` apart in L1. *Guarantee*: for every output y the log ratio of its two
    probabilities is ``sum(|y - w| - |y - v|) / scale <=
    |v - w| / scale <= sensitivity / scale <= epsilon`` by the triangle inequality: epsilon-DP, with
    equality for y beyond both; delta = 0. *Composition*: sequential, or the rho of `pure_rho`.

    `sensitivity`: in L1, at least 1; `epsilon`: positive.
    """

    proof: ClassVar[int] = 1

    name = "discrete Laplace"

    def __init__(self, sensitivity: int, epsilon: Fraction) -> None:
        self.scale = laplace_scale(sensitivity, epsilon)
        self.cost = Cost(epsilon, rho=pure_rho(epsilon, sensitivity))
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance

        self._mechanism = make_laplace(_vectors(), l1_distance(T="i64"), scale=self.scale)
        self._confirm(sensitivity, epsilon)


class DiscreteGaussian(Noise):
    """P(noise = z) ∝ exp(-z² / (2 scale²)), z integer.

    **Privacy.** *Neighboring, sensitivity*: those of the query, in L2. *Guarantee*: for answers v,
    w and any order a > 1 the Rényi divergence of the two distributions is at most ``a · |v - w|² /
    (2 scale²) <= a · rho`` ([1]_ of `Noise`, theorem 14: completing the square leaves a quotient of
    sums of exp(-(z - t)² / (2 scale²)) over the integers, largest at integer t): rho-zCDP, and
    (epsilon, delta)-DP as `Cost.zcdp` says. *Composition*: rho adds up.

    `squared_sensitivity`: square of the L2 sensitivity, at least 1; `cost`: with rho.
    """

    proof: ClassVar[int] = 2

    name = "discrete Gaussian"

    def __init__(self, squared_sensitivity: int, cost: Cost) -> None:
        rho = cost.rho or Fraction(0)
        self.scale = gaussian_scale(squared_sensitivity, rho)
        self.cost = cost
        from opendp.measurements import make_gaussian
        from opendp.metrics import l2_distance

        self._mechanism = make_gaussian(_vectors(), l2_distance(T="f64"), scale=self.scale)
        self._confirm(math.sqrt(squared_sensitivity), rho)


def best_noise(
    sensitivity: int, squared_sensitivity: int, cost: Cost, budget: BudgetSlice
) -> Noise:
    """The noise of least variance for a cost, from public arguments alone.

    Pure epsilon allows Laplace noise. (epsilon, delta) allows either: Laplace of variance about
    2·(L1/epsilon)², where delta is not spent, or Gaussian of variance L2²/(2 rho). From a
    `ZCDPAccountant`, which counts rho, Gaussian noise has the smaller variance of the two up to a
    rho of 2, as L1 >= L2. Without a squared sensitivity (0) it is Laplace noise.
    """
    if cost.delta == 0 or cost.rho is None or not squared_sensitivity:
        return DiscreteLaplace(sensitivity, cost.epsilon)
    less = 4 * cost.rho * sensitivity**2 <= squared_sensitivity * cost.epsilon**2
    if less and not isinstance(budget, ZCDPAccountant):
        return DiscreteLaplace(sensitivity, cost.epsilon)
    return DiscreteGaussian(squared_sensitivity, cost)


MOST_HOLDERS = 1024
MOST_BITS = 16
"""Within these bounds, sums of 2^35 records of each holder in a part do not wrap."""
ROOM = Fraction(1, 2**30)
"""Share of rho for the divergence of a sum of discrete Gaussians from one discrete Gaussian."""
MOST_SCALE = 1 << 12
"""Largest scale of Laplace noise in shares: each share takes some four times as many draws."""
_BATCH = 1 << 8
"""Draws at a time, at least."""


class Shares(Noise):
    """One holder's share of the noise of a sum.

    `scale`: of one Gaussian share, or of the Laplace noise that the honest holders' shares add up
    to, in units of 1 / 2^`bits`; `holders`: n, the number of shares; `deviation`: standard
    deviation of all n shares together, in records; of Laplace noise an upper bound.

    **Privacy.** Of the sum, not of one share: see the module, and P17.
    """

    proof: ClassVar[int] = 17

    distribution: ClassVar[type[Noise]]
    """The distribution of the honest holders' sum."""
    holders: int
    deviation: float
    bits: int = 0

    @staticmethod
    def of(
        query: Query,
        neighboring: Neighboring,
        max_contributions: int,
        cost: Cost,
        holders: int,
        honest: int,
    ) -> Shares:
        """The shares of a query's noise, for the cost of the sum: Gaussian where it has a delta,
        else Laplace. `holders`, `honest`: n, and m, how many do not collude, 1 to n.
        """
        sensitivity = query.sensitivity(neighboring, max_contributions)
        if not cost.delta:
            return LaplaceShares(sensitivity, cost.epsilon, holders, honest)
        square = query.squared_sensitivity(neighboring, max_contributions)
        return GaussianShares(sensitivity, square, cost, holders, honest)

    def masked(self, counts: Ints, mask: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Counts plus a share of noise plus a mask, modulo 2^64.

        Counts saturate one by one where n times as many would wrap, which only shrinks differences.
        """
        most = CAP // (self.holders << self.bits)
        held = np.clip(counts, -most, most) << self.bits
        noise = self(np.zeros(len(counts), np.int64))
        return held.view(np.uint64) + noise.view(np.uint64) + mask

    def total(self, sums: NDArray[np.uint64]) -> Ints:
        """Numbers of records from the sum of all contributions: rounded, halves to even."""
        found = sums.view(np.int64)
        down = found >> self.bits
        twice = 2 * (found - (down << self.bits))
        unit, odd = 1 << self.bits, down % 2 == 1
        return np.asarray(down + ((twice > unit) | ((twice == unit) & odd)), np.int64)

    def mechanism_of(self, query: Query, sensitivity: int) -> Mechanism:
        """The entry of a receipt for the sum, with the scale of noise of the same deviation."""
        mechanism = self.mechanism(str(query), sensitivity, {query.proof, self.distribution.proof})
        return replace(mechanism, scale=self.deviation / (1 if self.cost.delta else math.sqrt(2)))


class LaplaceShares(Shares):
    """A difference of two Pólya variates, P(k) ∝ exp(-k / scale) · (r)(r + 1)…(r + k - 1) / k! with
    r = 1 / m: m such shares add up to discrete Laplace noise, exactly (P17).

    A Pólya variate is drawn by rejection: a geometric variate, P(k) ∝ exp(-k / scale), is accepted
    if k coins of probability (r + i - 1) / i come up heads. A geometric variate is discrete Laplace
    noise, rejected where it is negative: OpenDP draws it. Coins are integers of the operating
    system's random bits. No float is compared.

    `sensitivity`, `epsilon`: of the sum of all holders' answers, in L1; `holders`, `honest`: n, m.

    Examples
    --------
    >>> shares = LaplaceShares(1, Fraction(1, 10), holders=20, honest=19)
    >>> shares.scale, round(shares.deviation, 2)
    (10.0, 14.51)
    """

    name, distribution = "discrete Laplace in shares", DiscreteLaplace

    def __init__(self, sensitivity: int, epsilon: Fraction, holders: int, honest: int) -> None:
        self.holders, self._honest = _counted(holders, honest)
        if sensitivity < 1 or epsilon * MOST_SCALE < sensitivity:
            raise InputError(
                f"shares of Laplace noise need a query that a unit moves, and an epsilon of at "
                f"least {sensitivity} / {MOST_SCALE} for it: give a delta for Gaussian ones"
            )
        whole = DiscreteLaplace(sensitivity, epsilon)
        self.scale, self.cost, self._mechanism = whole.scale, whole.cost, whole._mechanism
        self.deviation = self.scale * math.sqrt(2 * self.holders / self._honest)

    def __call__(self, values: Ints) -> Ints:
        """Values and a share of noise, shape (n_values,)."""
        return values + self._polya(len(values)) - self._polya(len(values))

    def _polya(self, n_values: int) -> Ints:
        """Pólya variates, by rejection."""
        found, waiting = np.zeros(n_values, np.int64), np.arange(n_values)
        while len(waiting):
            tried = np.resize(waiting, max(len(waiting), _BATCH))
            drawn = super().__call__(np.zeros(len(tried), np.int64))
            passes = np.flatnonzero(self._passes(drawn))
            found[tried[passes]] = drawn[passes]
            waiting = np.setdiff1d(waiting, tried[passes])
        return found

    def _passes(self, drawn: Ints) -> Bools:
        """Which k >= 0 are accepted: by k coins, the i-th heads with ((i - 1) m + 1) / (i m)."""
        passes, left, i = drawn >= 0, np.flatnonzero(drawn > 0), 1
        while len(left):
            lost = _below(i * self._honest, len(left)) > (i - 1) * self._honest
            passes[left[lost]] = False
            left = left[~lost]
            left, i = left[drawn[left] > i], i + 1
        return passes


class GaussianShares(Shares):
    """One holder's share of discrete Gaussian noise. `sensitivity`, `squared_sensitivity`, both at
    least 1, and `cost`, with rho, are those of the sum of all holders' answers.

    Examples
    --------
    >>> shares = GaussianShares(1, 1, Cost.zcdp(1, "1e-6"), holders=20, honest=19)
    >>> shares.bits, round(shares.scale, 2), round(shares.deviation, 2)
    (1, 2.08, 4.65)
    >>> shares.total(np.array([7, 10, 2**64 - 3], np.uint64))
    array([ 4,  5, -2])
    """

    name, distribution = "discrete Gaussian in shares", DiscreteGaussian

    def __init__(
        self, sensitivity: int, squared_sensitivity: int, cost: Cost, holders: int, honest: int
    ) -> None:
        n, m = _counted(holders, honest)
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


def _counted(holders: int, honest: int) -> tuple[int, int]:
    """n and m, checked."""
    n, m = integer(holders) or 0, integer(honest) or 0
    if not 2 <= n <= MOST_HOLDERS or not 1 <= m <= n:
        raise InputError(
            f"shares of noise are for 2 to {MOST_HOLDERS:,} holders, of whom fewer collude than "
            f"there are"
        )
    return n, m


def _below(bound: int, n_values: int) -> NDArray[np.uint64]:
    """Uniform integers from 0 to bound - 1, of the operating system's random bits."""
    last = np.uint64(2**64 - 2**64 % bound - 1)
    bits = np.frombuffer(os.urandom(8 * n_values), np.uint64).copy()
    while len(beyond := np.flatnonzero(bits > last)):
        bits[beyond] = np.frombuffer(os.urandom(8 * len(beyond)), np.uint64)
    return bits % np.uint64(bound)
