"""Scales of noise: never too small by a rounding, and refused where 64 bits would not hold it."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metricdp.accounting.cost import gaussian_scale, laplace_scale
from metricdp.errors import InputError

BUDGETS = st.fractions(Fraction(1, 10**6), 100)


@given(st.integers(1, 10**9), BUDGETS)
def test_laplace_is_the_least_float_that_is_large_enough(sensitivity, epsilon):
    scale = laplace_scale(sensitivity, epsilon)
    assert Fraction(scale) * epsilon >= sensitivity
    assert Fraction(math.nextafter(scale, 0)) * epsilon < sensitivity


@given(st.integers(1, 10**9), BUDGETS)
def test_gaussian_is_large_enough_and_no_larger_than_two_roundings(square, rho):
    scale = gaussian_scale(square, rho)
    assert 2 * rho * Fraction(scale) ** 2 >= square
    assert 2 * rho * Fraction(math.nextafter(math.nextafter(scale, 0), 0)) ** 2 < square


def test_a_scale_that_is_a_float_is_taken_as_it_is():
    assert laplace_scale(3, Fraction(1, 2)) == 6.0
    assert gaussian_scale(2, Fraction(1, 4)) == 2.0


@pytest.mark.parametrize("part", [Fraction(1), Fraction(3, 4), Fraction(1, 10**9), 0, -1])
def test_what_64_bits_do_not_hold_is_refused(part):
    with pytest.raises(InputError, match="large enough for noise of 64 bits"):
        laplace_scale(1, Fraction(part, 2**56) if isinstance(part, int) else part / 2**56)
    with pytest.raises(InputError, match="large enough for noise of 64 bits"):
        gaussian_scale(1, Fraction(part, 2**112) if isinstance(part, int) else part / 2**112)


def test_a_little_more_is_not():
    more = 1 + Fraction(1, 1000)
    assert laplace_scale(1, more / 2**56) < 2**56
    assert gaussian_scale(1, more / 2**112) < 2**56
