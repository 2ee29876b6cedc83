"""Logarithms of fractions with proven bounds, and the random variates of selections from them."""

from decimal import Decimal, localcontext
from fractions import Fraction


def log_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Lower and upper bound of ln x, by the correctly rounded `Decimal.ln`."""
    with localcontext() as context:
        context.prec = 60 + x.denominator.bit_length() // 3
        up = Decimal(x.numerator).ln()
        down = Decimal(x.denominator).ln()
        error = Fraction(max(abs(up), abs(down), Decimal(1))) / 10 ** (context.prec - 2)
        value = Fraction(up) - Fraction(down)
    return value - error, value + error


_INFINITE = Fraction(10**30)
"""Beyond any T of bits that will ever be drawn (T < 10^30 needs fewer than 10^30 bits)."""


def clock_bounds(bits: int, n_bits: int, gumbel: bool) -> tuple[Fraction, Fraction]:
    """An interval that contains T(V), Gumbel or exponential, for all V with these leading bits."""
    if not gumbel:
        high = -log_bounds(Fraction(bits, 1 << n_bits))[0] if bits else _INFINITE
        return -log_bounds(Fraction(bits + 1, 1 << n_bits))[1], high
    rest = (1 << n_bits) - bits
    low = (
        -log_bounds(-log_bounds(Fraction(rest - 1, 1 << n_bits))[0])[1] if rest > 1 else -_INFINITE
    )
    high = -log_bounds(-log_bounds(Fraction(rest, 1 << n_bits))[1])[0] if bits else _INFINITE
    return low, high
