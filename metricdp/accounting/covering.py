"""The privacy cost of private greedy covering.

The greedy loop selects public sets S_1, S_2, … by exponential mechanisms, P(S_i = S) ∝ exp(eta · |S
∩ R_i|), where R_i are the records that no earlier set covers. `exponent` finds the largest eta
known to be private.

**Privacy.** Proof P10 (``docs/proofs/10-covering.md``): a tight theorem for any number of rounds;
for few rounds, basic composition or zCDP allows a larger eta.

References
----------
.. [1] A. Gupta, K. Ligett, F. McSherry, A. Roth, K. Talwar, "Differentially private combinatorial
   optimization", SODA 2010, section 6.
.. [2] M. Jones, H. L. Nguyen, T. D. Nguyen, "Differentially private clustering via maximum
   coverage", AAAI 2021, lemma 6.
"""

from contextlib import suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from metricdp.accounting.cost import BASIC, ZCDP, Cost, selection_epsilon
from metricdp.errors import InputError
from metricdp.releases import Neighboring

WHOLE_LOOP = "whole-loop bound"
_GRID = 2**60
"""Exponents are rounded down to multiples of 1 / _GRID."""
LEAST = Fraction(1, 10**40)
"""Least epsilon: below, the 60 digits of the bound would not distinguish exp(epsilon) from 1."""


class Exponent(NamedTuple):
    """The factor eta in exp(eta · score), and the bound by which it is private."""

    eta: Fraction
    bound: str


def exponent(
    budget: Cost, rounds: int, neighboring: Neighboring, max_contributions: int
) -> Exponent:
    """Largest eta known to be private for a loop of so many rounds at this cost."""
    m = max_contributions
    epsilon = budget.epsilon
    delta = budget.delta
    spread = m if neighboring == "add-remove" else 2 * m
    known = [Exponent(epsilon / (rounds * spread), BASIC)]
    if delta:
        known.append(Exponent(_largest(epsilon, delta, neighboring) / m, WHOLE_LOOP))
        with suppress(InputError):  # epsilon is too small for zCDP at this delta
            known.append(
                Exponent(selection_epsilon(Cost.zcdp(epsilon, delta), rounds) / spread, ZCDP)
            )
    return max(known)


@lru_cache(maxsize=256)
def _largest(epsilon: Fraction, delta: Fraction, neighboring: Neighboring) -> Fraction:
    """Largest multiple x of 1/_GRID, up to epsilon, at which the theorem allows this delta."""
    if epsilon < LEAST:
        raise InputError(f"epsilon is too small for a cover, got {float(epsilon):g}")
    if _safe(epsilon, epsilon, delta, neighboring):
        return epsilon
    low = 0
    high = int(epsilon * _GRID)
    while high - low > 1:
        middle = (low + high) // 2
        if _safe(Fraction(middle, _GRID), epsilon, delta, neighboring):
            low = middle
        else:
            high = middle
    return Fraction(low, _GRID)


def _safe(x: Fraction, epsilon: Fraction, delta: Fraction, neighboring: Neighboring) -> bool:
    """Whether the theorem's delta at x is at most the one given, to 60 digits with a margin."""
    with localcontext() as context:
        context.prec = 60
        at, s, loss = (Decimal(v.numerator) / Decimal(v.denominator) for v in (x, epsilon, delta))
        growth = at.exp() - 1
        bound = (
            (1 - (-at).exp()).ln() - (s + at) / growth
            if neighboring == "add-remove"
            else growth.ln() - s / growth
        )
        return bound < loss.ln() - Decimal(10) ** -12
