"""Exact distributions of the package's randomness, written from their definitions, and divergences
between distributions.

Nothing here is shared with the audited code: no sampler, no sensitivity, no price.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from metricdp.arguments import Floats

Logs = Floats


def log_laplace(z: ArrayLike, scale: float) -> Logs:
    """Log of ``P(Z = z) = tanh(1 / (2 scale)) · exp(-abs(z) / scale)`` (discrete Laplace)."""
    q = math.exp(-1 / scale)
    return math.log1p(-q) - math.log1p(q) - np.abs(np.asarray(z, dtype=np.float64)) / scale


@lru_cache(maxsize=64)
def _gaussian_total(scale: float) -> float:
    z = np.arange(-math.ceil(40 * scale) - 10, math.ceil(40 * scale) + 11, dtype=np.float64)
    return math.log(np.exp(-(z**2) / (2 * scale**2)).sum())


def log_gaussian(z: ArrayLike, scale: float) -> Logs:
    """Log of ``P(Z = z) ∝ exp(-z² / (2 scale²))``, z integer: the discrete Gaussian
    distribution."""
    return -(np.asarray(z, dtype=np.float64) ** 2) / (2 * scale**2) - _gaussian_total(scale)


def _exponents(scores: ArrayLike, eta: Fraction) -> Logs:
    integers = [int(s) for s in np.asarray(scores)]
    return np.array([float(eta * (s - max(integers))) for s in integers])


def log_exponential_mechanism(scores: ArrayLike, eta: Fraction) -> Logs:
    """Log of ``P(i) ∝ exp(eta · score_i)``."""
    x = _exponents(scores, eta)
    return x - np.logaddexp.reduce(x)


def log_permute_and_flip(scores: ArrayLike, eta: Fraction) -> Logs:
    """Log of the distribution of permute-and-flip: ``P(i) = p_i · integral over t in [0, 1] of
    prod_(j != i) (1 - t p_j)``, ``p_i = exp(eta · (score_i - max))``, by Gauss–Legendre, which is
    exact here.
    """
    x = _exponents(scores, eta)
    nodes, weights = np.polynomial.legendre.leggauss(len(x) // 2 + 1)
    factors = 1 - (nodes[:, None] + 1) / 2 * np.exp(x)
    others = [np.delete(factors, i, axis=1).prod(axis=1) @ weights / 2 for i in range(len(x))]
    return x + np.log(np.array(others))


DISTRIBUTIONS = {
    "exponential mechanism": log_exponential_mechanism,
    "permute-and-flip": log_permute_and_flip,
}


def log_ratio(p: Logs, q: Logs) -> float:
    """Max divergence: the largest ``log(P / Q)``; infinite if Q lacks an outcome of P."""
    possible = p > -np.inf
    if not possible.any():
        return -math.inf
    with np.errstate(invalid="ignore"):
        return float(np.max(p[possible] - q[possible]))


def hockey_stick(p: Logs, q: Logs, epsilon: float) -> float:
    """Hockey-stick divergence: least delta with ``P(S) <= exp(epsilon) Q(S) + delta`` for all S."""
    return float(np.maximum(0.0, np.exp(p) - np.exp(q + epsilon)).sum())


def renyi(p: Logs, q: Logs, order: float) -> float:
    """Rényi divergence of P from Q, of an order above 1."""
    possible = p > -np.inf
    if (q[possible] == -np.inf).any():
        return math.inf
    return float(np.logaddexp.reduce(order * p[possible] + (1 - order) * q[possible])) / (order - 1)


ORDERS = (1.01, 1.5, 2.0, 3.0, 6.0, 12.0)
"""Orders at which a claim of rho-zCDP must satisfy ``renyi <= order · rho``."""


def needed_rho(p: Logs, q: Logs) -> float:
    """Lower bound on rho of zCDP: the largest ``renyi / order`` over `ORDERS`."""
    return max(renyi(p, q, order) / order for order in ORDERS)
