"""Privacy amplification by shuffling: an upper bound on the (epsilon, delta) of n local messages
mixed by a trusted shuffler.

It is the clone bound [1]_ [2]_ for randomizers with two weights, derived in proof P16
(``docs/proofs/16-local.md``). W = exp(epsilon_0) is rounded up. The probability of omitted tails
and a bound on the floating-point error are added to delta.

References
----------
.. [1] V. Feldman, A. McMillan, K. Talwar, "Hiding among the clones", FOCS 2021: Theorem 3.1 and its
   Section 5.
.. [2] V. Feldman, A. McMillan, K. Talwar, "Stronger privacy amplification by shuffling", SODA 2023.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.arguments import Amount
from metricdp.errors import InputError
from metricdp.local.randomizers import (
    KRR,
    FrequencyRandomizer,
    LocalHashing,
    Randomizer,
    SubsetSelection,
)

_FLOAT_ERROR = 1e-11
"""Bound on the relative error of a binomial tail, some hundred times the error observed."""
_GRID = 10**6
_SUM_ERROR = 1e-9
"""Bound on the relative error of the probabilities of C and their sum."""


def clone_weights(randomizer: Randomizer | Amount) -> tuple[float, float]:
    """(W, p) of the clone bound for a randomizer, W rounded up; for a number epsilon, those that
    hold for any epsilon-DP randomizer: (exp(epsilon), exp(-epsilon) / 2).
    """
    if not isinstance(randomizer, FrequencyRandomizer):
        epsilon = _local(randomizer)
        return math.exp(epsilon) * (1 + 1e-14), math.exp(-epsilon) / 2 * (1 - 1e-14)
    ratio = Fraction(randomizer.favored, randomizer.unit)
    if isinstance(randomizer, KRR):
        p = Fraction(randomizer.unit, randomizer.total)
    elif isinstance(randomizer, LocalHashing):
        buckets = randomizer.limits[1]
        p = (1 - Fraction(1, buckets)) / (ratio + buckets - 1)
    else:
        assert isinstance(randomizer, SubsetSelection)
        m, s = randomizer.domain, randomizer.size
        p = Fraction(s * (m - s), m - 1) / (ratio * s + m - s)
    return float(ratio) * (1 + 1e-15), float(p)


def shuffled_delta(randomizer: Randomizer | Amount, users: int, epsilon: float) -> float:
    """A delta such that n shuffled messages are (epsilon, delta)-DP, for replace-one neighbors and
    one message a user.

    `randomizer`: KRR, LocalHashing, SubsetSelection, or a number, for any randomizer of this local
    epsilon; `users`: number n of honest users, as only their messages amplify privacy. O(√n) time.

    Examples
    --------
    >>> shuffled_delta(2, 100_000, 0.2) < 1e-6 < shuffled_delta(2, 100_000, 0.01)
    True
    """
    if users < 1:
        return 1.0
    generic = _pair_delta(*clone_weights(_local(randomizer)), 1.0, users, epsilon)
    if not isinstance(randomizer, FrequencyRandomizer):
        return generic
    ratio, p = clone_weights(randomizer)
    return min(generic, _pair_delta(ratio, p, (ratio + 1) * p, users, epsilon))


def _local(randomizer: Randomizer | Amount) -> float:
    return float(randomizer.epsilon if isinstance(randomizer, Randomizer) else randomizer)


def _pair_delta(ratio: float, p: float, seen: float, users: int, epsilon: float) -> float:
    """`seen` times an upper bound on the delta of the dominating pair of distributions for W, p."""
    from scipy.stats import binom

    binomial = binom(users - 1, min(2 * p, 1.0))
    tail = 1e-14
    low = max(0, int(binomial.ppf(tail)) - 1)
    high = min(users - 1, int(binomial.isf(tail)) + 1)
    omitted = float(binomial.cdf(low - 1)) + float(binomial.sf(high))
    c = np.arange(low, high + 1, dtype=np.float64)
    probability = binomial.pmf(c)
    factor = math.exp(min(epsilon, 700.0))
    # smallest a with W a + c + 1 - a >= e^epsilon (a + W (c + 1 - a)); rounding may be off by one
    least = np.ceil((c + 1) * (factor * ratio - 1) / ((ratio - 1) * (1 + factor)))
    best = np.zeros(len(c))
    for a in (least - 1, least, least + 1):
        above = binom.sf(a - 1, c, 0.5)
        at_least = binom.sf(a - 2, c, 0.5)
        first = (ratio * at_least + above) / (ratio + 1)
        second = (at_least + ratio * above) / (ratio + 1)
        best = np.maximum(best, first * (1 + _FLOAT_ERROR) - factor * second * (1 - _FLOAT_ERROR))
    total = float((probability * best).sum()) * (1 + _SUM_ERROR)
    return min(1.0, seen * (total + omitted + 1e-300))


def shuffled_epsilon(randomizer: Randomizer | Amount, users: int, delta: Fraction) -> Fraction:
    """The smallest epsilon found, in steps of 10^-6, such that n shuffled messages are (epsilon,
    delta)-DP; at most the local epsilon.

    By bisection, as delta decreases with epsilon. The guarantee of the returned value was computed
    itself.

    Examples
    --------
    >>> 0.1 < shuffled_epsilon(Fraction(4), 100_000, Fraction(1, 10**6)) < 0.2
    True
    """
    if not 0 < delta < 1:
        raise InputError("the shuffle model needs a delta between 0 and 1")
    local = randomizer.epsilon if isinstance(randomizer, Randomizer) else Fraction(randomizer)
    target = float(delta) * (1 - 1e-15)

    def enough(steps: int) -> bool:
        return shuffled_delta(randomizer, users, steps / _GRID) <= target

    steps = range(1, max(math.ceil(local * _GRID), 1))
    return min(Fraction(1 + bisect_left(steps, True, key=enough), _GRID), local)


LOWEST_LOCAL = Fraction(1, 10)  # lower end of the bisection


def largest_local_epsilon(
    users: int,
    epsilon: Fraction,
    delta: Fraction,
    randomizer_for: Callable[[Fraction], Any] | None = None,
) -> Fraction:
    """The largest local epsilon found, in steps of 1/64, such that n shuffled messages are
    (epsilon, delta)-DP; at least epsilon, which needs no shuffler.

    `randomizer_for`: from a local epsilon to the randomizer that would be used, by default any. The
    guarantee of the returned value was computed itself.

    Examples
    --------
    >>> float(largest_local_epsilon(100_000, Fraction(1, 4), Fraction(1, 10**6)))
    4.671875
    """
    of = randomizer_for or (lambda local: local)

    def fits(steps: int) -> bool:
        return shuffled_delta(
            of(Fraction(steps, 64)), users, float(epsilon) * (1 - 1e-15)
        ) <= float(delta) * (1 - 1e-15)

    if not 0 < delta < 1:
        raise InputError("the shuffle model needs a delta between 0 and 1")
    low = math.ceil(max(epsilon, LOWEST_LOCAL) * 64)
    high = 64 * 16
    if low >= high or not fits(low):
        return epsilon
    more = bisect_left(range(low + 1, high), True, key=lambda steps: not fits(steps))
    return Fraction(low + more, 64)
