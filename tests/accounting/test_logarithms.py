"""Bounds of logarithms hold, by many more digits than they have, and are narrow."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from metricdp.accounting.logarithms import clock_bounds, log_bounds

FRACTIONS = [
    *(Fraction(p, q) for p, q in [(1, 3), (2, 3), (7, 5), (10**9 + 7, 998244353), (1, 10**30)]),
    *(Fraction(3**k + 1, 2**k) for k in range(1, 60, 7)),
    *(1 + Fraction(s, 7**k) for k in range(10, 100, 20) for s in (1, -1)),
    Fraction(1, 3**400),
    Fraction(3**400),
]


def ln(x):
    """To 400 digits."""
    with localcontext() as context:
        context.prec = 400
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).ln())


@pytest.mark.parametrize("x", FRACTIONS, ids=range(len(FRACTIONS)))
def test_the_logarithm_lies_between_its_bounds(x):
    low, high = log_bounds(x)
    assert low < ln(x) < high
    assert high - low < Fraction(1, 10**50) * max(1, abs(low))
    digits = x.denominator.bit_length() // 3
    bits = max(x.numerator.bit_length(), x.denominator.bit_length())
    assert high - low <= 200 * bits * Fraction(1, 10 ** (60 + digits))


def test_the_logarithm_of_one():
    low, high = log_bounds(Fraction(1))
    assert low < 0 < high and low == -high


@pytest.mark.parametrize("n_bits", [1, 4])
@pytest.mark.parametrize("gumbel", [False, True], ids=["exponential", "gumbel"])
def test_a_clock_lies_between_its_bounds(n_bits, gumbel):
    """T falls with V, so that its bounds are those of the ends, which meet."""
    scale = 1 << n_bits
    bounds = [clock_bounds(bits, n_bits, gumbel) for bits in range(scale)]
    narrow = Fraction(1, 10**40)
    for bits, (low, high) in enumerate(bounds):
        start, end = Fraction(bits, scale), Fraction(bits + 1, scale)
        if not bits:
            assert high == 10**30
        else:
            time = -ln(-ln(1 - start)) if gumbel else -ln(start)
            assert 0 < high - time < narrow
        if end == 1 and gumbel:
            assert low == -(10**30)
        else:
            time = -ln(-ln(1 - end)) if gumbel else -ln(end)
            assert 0 < time - low < narrow
