"""Noise scales for an epsilon or a rho, as floats that are never too small."""

from __future__ import annotations

import math
from fractions import Fraction

from metricdp.errors import InputError


def laplace_scale(sensitivity: int, epsilon: Fraction) -> float:
    """Smallest float64 at or above ``sensitivity / epsilon``."""
    if epsilon * 2**56 <= sensitivity:
        raise InputError(
            f"epsilon must be positive, and large enough for noise of 64 bits; got "
            f"{float(epsilon)!r}"
        )
    exact = sensitivity / epsilon
    scale = float(exact)
    return scale if Fraction(scale) >= exact else math.nextafter(scale, math.inf)


def gaussian_scale(squared_sensitivity: int, rho: Fraction) -> float:
    """A float64 at or just above ``sqrt(squared_sensitivity / (2 rho))``."""
    if rho * 2**112 <= squared_sensitivity:
        raise InputError(
            f"rho must be positive, and large enough for noise of 64 bits; got {float(rho)!r}"
        )
    square = squared_sensitivity / (2 * rho)
    scale = math.sqrt(square)
    while Fraction(scale) ** 2 < square:
        scale = math.nextafter(scale, math.inf)
    return scale


def excess(scale: float, shares: int) -> float:
    """Upper bound of the log ratio of an integer's probabilities as a sum of `shares` discrete
    Gaussians and as one discrete Gaussian of the summed variance (P17): ``(shares - 1) · ln((1 + q)
    / (1 - q))`` with ``q = 2·sum(exp(-(pi·scale·j)²), j = 1, 2, …)``, rounded up.
    """
    if shares == 1:
        return 0.0
    first = math.exp(-((math.pi * scale) ** 2))
    q = 2 * first / (1 - first**3)
    return math.inf if q >= 0.5 else (shares - 1) * 2 * math.atanh(q) * (1 + 1e-9)
