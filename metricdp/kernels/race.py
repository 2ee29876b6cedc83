"""A race of exponential clocks among candidates with integer scores: the largest value wins.

Candidate i has a uniform V_i in (0, 1), of which 64 bits are known, and the value

    T(V_i) + eta * s_i,   T(V) = -ln V              (permute-and-flip)
                     or   T(V) = -ln(-ln(1 - V))   (exponential mechanism).

Comparisons closer than the proven error of floating-point evaluation are left to the caller, which
decides them exactly with more bits of the same V.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

LOG_2_64 = 64 * math.log(2.0)
_ROUNDING = 2.0**-40
"""Relative error allowed for logarithms, products and sums: thousands of times the actual one."""


@njit(cache=True, nogil=True, inline="always")
def clock(bits: int, gumbel: bool) -> tuple[float, float]:
    """T at the middle of the interval that 64 bits leave for V, and a bound on its error: there V
    varies by 2**-65, -ln V by at most 1/b, and ln(-ln(1 - V)) by at most 2/b + 2/(2**64 - b).
    """
    b = np.float64(bits)
    rest = np.float64(~bits) + 1.0  # 2**64 - b
    t = LOG_2_64 - math.log(b + 0.5)
    if gumbel:
        v = (b + 0.5) * 2.0**-64
        e = -math.log1p(-v) if v < 0.5 else LOG_2_64 - math.log(rest - 0.5)
        t = -math.log(e) if e > 0.0 else -math.inf
    return t, 2.0 / b + 4.0 / rest + _ROUNDING * (1.0 + abs(t))


@njit(cache=True, nogil=True)
def race(
    scores: NDArray,
    bits: NDArray,
    start: int,
    eta: float,
    gumbel: bool,
    leader: int,
    score: int,
    t: float,
    error: float,
) -> tuple:
    """Compare candidates from `start` on with the leader, until a comparison is too close.

    `eta` is within one unit in its last place. `leader` is -1 for one of an earlier block, -2 for
    none. Returns the index to be compared exactly (n if none), and the leader with its score and
    `clock`.
    """
    n = len(scores)
    for i in range(start, n):
        b = bits[i]
        if b == 0:
            return i, leader, score, t, error
        if leader != -2:
            lead = eta * float(scores[i] - score)
            limit = t - error - _ROUNDING * abs(lead)
            if (
                lead + LOG_2_64 < limit
                or lead + (LOG_2_64 - math.log(np.float64(b))) * (1 + _ROUNDING) + _ROUNDING < limit
            ):
                continue
        else:
            lead = 0.0
        own, own_error = clock(b, gumbel)
        if leader != -2:
            margin = own + lead - t
            doubt = own_error + error + _ROUNDING * (abs(lead) + abs(own) + abs(t))
            if not abs(margin) > doubt:
                return i, leader, score, t, error
            if margin < 0:
                continue
        leader = i
        score = scores[i]
        t = own
        error = own_error
    return n, leader, score, t, error
