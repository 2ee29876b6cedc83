"""The price of covering private records by sets selected one after another, each record leaving
once it is covered.

A *loop* selects public sets S_1, S_2, … by exponential mechanisms, P(S_i = S) ∝ exp(eta · |S ∩
R_i|), where R_i holds the records that no earlier set covers; sets, radii and the number of rounds
may be chosen in view of what was selected before. Let m be the most records of a unit, x = m·eta.

**Theorem.** For add-remove neighbors D ⊂ D' = D + unit, whatever the number of rounds, and for all
events S and s > -x, ``P_D(S) <= exp(s)·P_D'(S) + (1 - exp(-x))·exp(-(s + x) / (exp(x) - 1))`` and
``P_D'(S) <= exp(x)·P_D(S)``.

*Proof.* Second part: by monotone scores one round's ratio P_D'/P_D is at most exp(eta·c), c the
unit's records that the round covers; these c add up to at most m. First part: let F_u(s), u = 0..m,
be the largest P_D(S) - exp(s)·P_D'(S) over all loops on a unit with u records left, and φ_u = (1 -
1/r_u)·exp(-w/(r_u - 1)), r_u = exp(eta·u), w = s + eta·u, φ_0 = 0. Claim: F_u(s) <= φ_u(w) if w >
0, and F_u(s) = 1 - exp(s) if w <= 0 (in either case φ or 1 - exp(s) is at least (1 - exp(s))^+,
what ending the loop gives: φ_u is the largest value of exp(-y)·(1 - exp(s - (r_u - 1)y)) over y >=
0, taken at y = w/(r_u - 1)). A round covers c records with probability p_c under D, and
p_c·exp(eta·c)/Z under D', Z = Σ p_c·r_c; given c, the set has one law under both, which is public
chance. So F_u(s) = sup Σ p_c·F_(u-c)(s + eta·c - ln Z). All these terms share one v = w - ln Z. If
v <= 0 the sum is Σ p_c·(1 - exp(s + eta·c)/Z) = 1 - exp(s). If v > 0, by induction on the number of
rounds it is at most Σ p_c·φ_(u-c)(v), and it must be shown that this is at most φ_u(w) =
φ_u(v)·Z^(-1/(r_u - 1)). Let y_c = (r_c - 1)/(r_u - 1), so Z = 1 + (r_u - 1)·Σ p_c·y_c and
Z^(-1/(r_u - 1)) >= exp(-Σ p_c·y_c) >= Σ p_c·(1
- y_c). And φ_(u-c)(v) <= φ_u(v)·(1 - y_c), as the exponential grows with r and (1 - 1/r_(u-c))/(1 -
  1/r_u) = (r_u - r_c)/(r_u - 1) = 1 -
y_c. ∎

The bound is the hockey stick of waiting times of rates 1 and exp(x), which rounds of ever smaller
chance approach: no larger eta is safe for all loops. Under *replace-one* D and D' share a common
part E with one unit less: P_D <= exp(x)·P_E, and P_E <= exp(s - x)·P_D' + the bound at s - x.
Together delta = (exp(x) - 1)·exp(-s / (exp(x) - 1)).

Gupta et al. [1]_ take eta = epsilon / (2 ln(e/delta)), from exp(eta) - 1 <= 2·eta, which fails
beyond 1.25; up to there it is some three times smaller than the exact one. For few rounds, adding
up ranges (basic composition) or zCDP (`metricdp.accounting.cost`) allows more: `exponent` takes the
largest.

References
----------
.. [1] A. Gupta, K. Ligett, F. McSherry, A. Roth, K. Talwar, "Differentially private combinatorial
   optimization", SODA 2010, section 6.
.. [2] M. Jones, H. L. Nguyen, T. D. Nguyen, "Differentially private clustering via maximum
   coverage", AAAI 2021, lemma 6.
"""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from metricdp.accounting.cost import BASIC, ZCDP, Cost, selection_epsilon
from metricdp.errors import InputError
from metricdp.releases import Neighboring

WHOLE_LOOP = "whole-loop bound"
PUBLISHED = "published bound"
_GRID = 2**60
"""Exponents are rounded down to multiples of 1 / _GRID."""
LEAST = Fraction(1, 10**40)
"""Of epsilon: below, the 60 digits of the bound would not tell exp(epsilon) from 1."""


class Exponent(NamedTuple):
    """The factor eta in exp(eta · score), and the bound by which it is safe."""

    eta: Fraction
    bound: str


def exponent(
    budget: Cost,
    rounds: int,
    neighboring: Neighboring,
    max_contributions: int,
    *,
    published: bool = False,
) -> Exponent:
    """Largest eta known to be safe for a loop of so many rounds at this price."""
    m = max_contributions
    epsilon = budget.epsilon
    delta = budget.delta
    spread = m if neighboring == "add-remove" else 2 * m
    if published:
        if not delta:
            raise InputError("the published exponent of a covering loop needs delta > 0")
        return Exponent(
            min(_loose(epsilon, delta), _largest(epsilon, delta, neighboring)) / m, PUBLISHED
        )
    known = [Exponent(epsilon / (rounds * spread), BASIC)]
    if delta:
        known.append(Exponent(_largest(epsilon, delta, neighboring) / m, WHOLE_LOOP))
        with suppress(InputError):  # too little epsilon for a rho at this delta
            known.append(
                Exponent(selection_epsilon(Cost.zcdp(epsilon, delta), rounds) / spread, ZCDP)
            )
    return max(known)


@lru_cache(maxsize=256)
def _largest(epsilon: Fraction, delta: Fraction, neighboring: Neighboring) -> Fraction:
    """Largest multiple x of 1/_GRID, up to epsilon, at which the theorem's delta is at most the one
    given: by bisection.
    """
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
    """Whether the theorem's delta at x is at most the one given: 60 digits, and a margin beyond all
    their rounding.

    The logarithm of the bound grows with x: 1 - exp(-x) and exp(x) - 1 do, and (s + x)/(exp(x) - 1)
    falls.
    """
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


def _loose(epsilon: Fraction, delta: Fraction) -> Fraction:
    """epsilon / (2 ln(e / delta)), rounded down."""
    with localcontext() as context:
        context.prec = 60
        loss = Decimal(delta.numerator) / Decimal(delta.denominator)
        return epsilon * Fraction(int(Fraction(1 / (2 * (1 - loss.ln()))) * _GRID), _GRID)
