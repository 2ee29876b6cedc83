"""How much a device may spend where a shuffler mixes its message with others."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from metricdp.errors import InputError
from metricdp.local.shuffle import shuffled_delta

LOWEST_LOCAL = Fraction(1, 10)  # where bisection begins


def largest_local_epsilon(
    users: int,
    epsilon: Fraction,
    delta: Fraction,
    randomizer_for: Callable[[Fraction], Any] | None = None,
) -> Fraction:
    """The largest local epsilon found, in steps of 1/64, at which n shuffled messages are (epsilon,
    delta)-DP.

    `epsilon`, `delta`: the guarantee that is wanted of the shuffled messages; `randomizer_for`:
    from a local epsilon to the randomizer that would be taken, by default any. The result was
    itself computed to keep the guarantee; never less than epsilon, which needs no shuffler.

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
