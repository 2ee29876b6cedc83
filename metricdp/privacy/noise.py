"""Integer noise mechanisms: discrete Laplace and discrete Gaussian noise from OpenDP."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from metricdp.accounting import BudgetSlice, Cost, ZCDPAccountant
from metricdp.accounting.cost import pure_rho
from metricdp.accounting.scales import gaussian_scale, laplace_scale
from metricdp.arguments import Ints
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.progress import progress
from metricdp.releases import Mechanism

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
