"""Privacy costs of mechanisms and of their composition: epsilon, (epsilon, delta), and zCDP.

All numbers are exact rationals. Logarithms have 50 digits and are rounded so that no stated cost is
too low. Noise scales for an epsilon or a rho are floats that are never too small.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Real

from metricdp.arguments import Amount, integer, shown
from metricdp.errors import InputError

_MOST = 10**6
"""Largest epsilon of the formulas below: more is meaningless, and might overflow."""
MIN_EPSILON, MAX_EPSILON = Fraction(1, 10**9), Fraction(1000)
"""Bounds of a budget: outside of them it is taken for a typing error."""
BASIC = "basic composition"
ZCDP = "zCDP"
_GRID = 10**24
"""Bounds with a logarithm in them are rounded up to this denominator."""
_ROUNDING = Fraction(1, 10**30)
"""Above every rounding error of computations with 120 digits and numbers up to 10^20."""
_SMALL, _LARGE = Fraction(1, 10**12), 2000
"""Beyond these epsilons rho is bounded simply, by epsilon² over 2 or 8, or by epsilon."""


def exact(value: Amount, name: str = "epsilon") -> Fraction:
    """Read a number as the exact rational its writer meant.

    Integers, Fractions, Decimals and strings ("1/10", "0.1") are read exactly. A float becomes the
    fraction of denominator up to 10^6 within one unit in its last place, if there is one, else its
    shortest decimal: 0.1 is 1/10, and 0.5 / 11 is 1/22, so that eleven such charges fit 0.5.

    **Privacy.** This reading needs no proof: the Fraction it returns is the one that the ledger
    adds up, that calibrates the noise and that the receipt states. The float is not used again.

    Refused: values that are not finite numbers, bools, and numbers of more than 400 digits, which
    no journal or receipt could show.

    Examples
    --------
    >>> exact(0.1), exact(3 * 0.1), exact("1/3"), exact(1e-9)
    (Fraction(1, 10), Fraction(3, 10), Fraction(1, 3), Fraction(1, 1000000000))
    """
    number = None
    with suppress(TypeError, ValueError, OverflowError, ZeroDivisionError, InvalidOperation):
        read = Decimal(value) if isinstance(value, str) and "/" not in value else value
        if isinstance(read, Decimal):
            huge = not read.is_finite() or abs(read.adjusted()) >= 400  # 1e999999999
            number = None if huge else Fraction(read)
        elif isinstance(read, str | Fraction):
            number = Fraction(read)
        elif isinstance(read, Integral) and not isinstance(read, bool):
            number = Fraction(int(read))
        elif isinstance(read, Real) and not isinstance(read, bool):
            binary = Fraction(float(read))
            simple = binary.limit_denominator(10**6)
            close = simple != 0 and abs(simple - binary) <= Fraction(math.ulp(float(read)))
            number = simple if close else Fraction(repr(float(read)))
    if number is None or max(abs(number.numerator), number.denominator) > 10**400:
        raise InputError(
            f"{name} must be a finite number, a Fraction or a string such as '1/10', got "
            f"{shown(value)}"
        )
    return number


class _RhoOfEpsilon:
    """The rho of a cost of an epsilon alone that states none: computed when it is first needed."""

    def __get__(self, cost: Cost | None, owner: type) -> Fraction | None:
        return None if cost is None else cost.__dict__.setdefault("rho", pure_rho(cost.epsilon))


@dataclass(frozen=True)
class Cost:
    """The privacy cost of one mechanism, or of several together: (epsilon, delta)-DP, and rho-zCDP
    where rho is known.

    `epsilon`, `delta`: changing the demand by one unit changes the probability of any event by at
    most a factor exp(epsilon), plus delta; `rho`: every Rényi divergence of order a > 1 between
    neighbors is at most ``a * rho`` ([1]_, definition 1.1), by default `pure_rho` of an epsilon
    without delta; `bound`: how several mechanisms were composed: ``"basic composition"`` or
    ``"zCDP"``. A budget of the latter counts rho instead of epsilon (`in_rho`).

    References
    ----------
    .. [1] M. Bun, T. Steinke, "Concentrated differential privacy: simplifications, extensions, and
       lower bounds", TCC 2016.
    .. [2] C. Harrison, P. Manurangsi, "Exact zCDP characterizations for fundamental differentially
       private mechanisms", FORC 2026.

    Examples
    --------
    >>> from metricdp.accounting import Cost
    >>> Cost(Fraction(1, 2)).bound, Cost.zcdp(1, "1e-6").bound
    ('basic composition', 'zCDP')
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = _RhoOfEpsilon()  # type: ignore[assignment]
    bound: str = BASIC

    @property
    def in_rho(self) -> bool:
        """Whether a budget of it counts rho."""
        return self.bound == ZCDP

    def __post_init__(self) -> None:
        epsilon, delta, rho = self.epsilon, self.delta, self.rho
        if self.in_rho and (rho is None or not 0 < delta < 1 or rho < 0):
            raise InputError("a cost bound by zCDP states rho >= 0 and 0 < delta < 1")
        if rho is None:
            if not delta:
                del self.__dict__["rho"]  # `_RhoOfEpsilon` computes it when it is needed
        elif delta and zcdp_epsilon(rho, delta) > epsilon and rho > zcdp_rho(epsilon, delta):
            raise InputError(
                f"rho {float(rho):g} costs more than epsilon {float(epsilon):g} at that delta"
            )

    @classmethod
    def of(cls, epsilon: Amount | Cost, delta: Amount = 0, least: Fraction | None = None) -> Cost:
        """A cost as it is, or (epsilon, delta) under basic composition. With `least` it is a
        budget, or a charge: then its epsilon must lie between `least` and `MAX_EPSILON`, and unless
        it counts rho, its rho is that of the worst mechanism of its epsilon.
        """
        if isinstance(epsilon, Cost):
            cost = epsilon
        else:
            cost = cls(exact(epsilon), exact(delta, "delta"))
            if not 0 <= cost.delta < 1:
                raise InputError(f"delta must be at least 0 and below 1, got {shown(delta)}")
        if least is None:
            return cost
        free = not cost.epsilon and not (cost.in_rho and cost.rho)  # delta may be all a rho costs
        if free or not least <= cost.epsilon <= MAX_EPSILON:
            asked = float(cost.epsilon) if cost is epsilon else epsilon
            raise InputError(
                f"epsilon must be between {float(MIN_EPSILON):g} and {MAX_EPSILON}, got "
                f"{shown(asked)}"
            )
        return cost if cost.in_rho else cls(cost.epsilon, cost.delta)

    @classmethod
    def selection(cls, epsilon: Amount) -> Cost:
        """The cost of one exponential mechanism: epsilon-DP, and, as its privacy loss has range
        epsilon, `range_rho` in zCDP. Permute-and-flip costs `pure_rho`.
        """
        asked = exact(epsilon)
        if asked <= 0:
            raise InputError(f"epsilon must be positive, got {shown(epsilon)}")
        return cls(asked, rho=range_rho(asked))

    @classmethod
    def zcdp(cls, epsilon: Amount, delta: Amount) -> Cost:
        """The cost, in zCDP, of the largest rho that is (epsilon, delta)-DP."""
        pair = exact(epsilon), exact(delta, "delta")
        return cls(*pair, rho=zcdp_rho(*pair), bound=ZCDP)


def selections(epsilon: Amount, times: int, delta: Amount = 0) -> Cost:
    """Cost of `times` adaptively chosen exponential mechanisms of `epsilon` each: the smaller of
    two valid bounds.

    Basic composition costs ``times * epsilon``; zCDP composition of ``times * range_rho(epsilon)``,
    at the price of `delta`, grows with the square root of `times`.

    Examples
    --------
    >>> cost = selections(0.1, 20, delta=1e-6)
    >>> cost.bound, float(cost.epsilon) < 1.21, selections(0.1, 2, delta=1e-6).bound
    ('zCDP', True, 'basic composition')
    """
    each, loss = exact(epsilon), exact(delta, "delta")
    count = integer(times) or 0
    if not (0 < each <= _MOST and 1 <= count < 2**63 and 0 <= loss < 1):
        raise InputError(
            f"selections need epsilon > 0, times >= 1 and 0 <= delta < 1; got {shown(epsilon)}, "
            f"{shown(times)}, {shown(delta)}"
        )
    basic = each * count
    rho = range_rho(each) * count
    composed = zcdp_epsilon(rho, loss) if loss else basic
    return Cost(composed, loss, rho, ZCDP) if composed < basic else Cost.of(basic)


def selection_epsilon(budget: Cost, times: int) -> Fraction:
    """Largest epsilon (to 14 digits, rounded down) of each of `times` selections that fit `budget`.

    Examples
    --------
    >>> from metricdp.accounting import Cost
    >>> from metricdp.accounting.cost import selection_epsilon
    >>> selection_epsilon(Cost.of(1), times=100)
    Fraction(1, 100)
    >>> round(float(selection_epsilon(Cost.zcdp(1, "1e-6"), times=100)), 3)
    0.044
    """
    if not budget.in_rho or budget.rho is None:
        return budget.epsilon / times
    return _largest(range_rho, budget.rho / times)


def pure_epsilon(rho: Fraction) -> Fraction:
    """Largest epsilon (to 14 digits, rounded down) with ``pure_rho(epsilon) <= rho``."""
    return _largest(pure_rho, rho)


def _largest(price: Callable[[Fraction], Fraction], rho: Fraction) -> Fraction:
    least = Fraction(math.isqrt(int(2 * rho * _GRID**2)), _GRID)  # price(e) <= e²/2
    steps = range(100 * 10**14)
    found = bisect_right(steps, rho, key=lambda at: price(least * (1 + Fraction(at, 10**14))))
    return least * (1 + Fraction(max(found - 1, 0), 10**14))


@lru_cache(maxsize=4096)
def pure_rho(epsilon: Fraction, sensitivity: int = 1) -> Fraction:
    """The rho of discrete Laplace noise of scale ``sensitivity / epsilon``, rounded up; for
    `sensitivity` 1, of the worst epsilon-DP mechanism.

    **Privacy.** Proof P12, exact: ``t·(s - 2q(1 - q^s) / (1 - q²))`` for ``t = epsilon / s`` and
    ``q = exp(-t)``, the divergence of order 1 ([2]_ of `Cost`); ``epsilon·tanh(epsilon / 2)`` for
    s = 1. Never above ``epsilon²/2``.

    Examples
    --------
    >>> from metricdp.accounting.cost import pure_rho
    >>> round(float(pure_rho(Fraction(1))), 4), round(float(pure_rho(Fraction(1), 1000)), 4)
    (0.4621, 0.3679)
    """
    if not _SMALL < epsilon < _LARGE:
        return min(epsilon**2 / 2, epsilon)
    with localcontext() as context:
        context.prec = 120
        whole = Decimal(epsilon.numerator) / epsilon.denominator
        t = whole / sensitivity
        q = (-t).exp()
        rho = t * (sensitivity - 2 * q * (1 - (-whole).exp()) / (1 - q * q))
    return min(_up(Fraction(rho) + _ROUNDING), epsilon**2 / 2)


@lru_cache(maxsize=4096)
def range_rho(epsilon: Fraction) -> Fraction:
    """The rho of the worst mechanism whose privacy loss has range `epsilon`, rounded up.

    **Privacy.** Proof P12, exact: ``e / (exp(e) - 1) + ln((exp(e) - 1) / e) - 1`` ([2]_ of
    `Cost`), never above ``e²/8``.

    Examples
    --------
    >>> from metricdp.accounting.cost import range_rho
    >>> round(float(range_rho(Fraction(1))), 4), round(float(range_rho(Fraction(4))), 3)
    (0.1233, 1.67)
    """
    if not _SMALL < epsilon < _LARGE:
        return min(epsilon**2 / 8, epsilon)
    with localcontext() as context:
        context.prec = 120
        x = Decimal(epsilon.numerator) / epsilon.denominator
        ratio = (x.exp() - 1) / x
        rho = 1 / ratio + ratio.ln() - 1
    return min(_up(Fraction(rho) + _ROUNDING), epsilon**2 / 8)


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Smallest known epsilon such that rho-zCDP is (epsilon, delta)-DP, rounded up.

    For every order a > 1, ``epsilon = a·rho + (ln(1/delta) + (a-1)·ln(1-1/a) - ln a) / (a-1)``
    holds (C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy",
    NeurIPS 2020, proposition 12, with the Rényi divergence of order a at most a·rho). a is chosen
    in floating point, the bound for that a is then evaluated exactly.

    Examples
    --------
    >>> float(zcdp_epsilon(Fraction(1, 40), Fraction(1, 10**6)))  # doctest: +ELLIPSIS
    1.0...
    """
    order = _best_order(lambda a: a * float(rho) + _overhead_float(a, delta))
    return max(_up(order * rho + _overhead(order, delta)), Fraction(0))


def zcdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Largest rho for which the bound of `zcdp_epsilon` stays at or below epsilon, rounded down.

    Examples
    --------
    >>> from metricdp.accounting import zcdp_epsilon, zcdp_rho
    >>> rho = zcdp_rho(Fraction(1), Fraction(1, 10**6))
    >>> round(float(rho), 4), round(float(zcdp_epsilon(rho, Fraction(1, 10**6))), 9)
    (0.0244, 1.0)
    """
    if not 0 < epsilon <= _MOST or not 0 < delta < 1:
        raise InputError(
            f"zCDP needs epsilon > 0, at most {_MOST:,}, and 0 < delta < 1, got {shown(epsilon)} "
            f"and {shown(delta)}"
        )
    order = _best_order(lambda a: -(float(epsilon) - _overhead_float(a, delta)) / a)
    rho = -_up(-(epsilon - _overhead(order, delta)) / order)
    if rho <= 0:
        raise InputError(
            f"epsilon {float(epsilon):g} is too small for zCDP at delta {float(delta):g}"
        )
    return rho


def _best_order(cost: Callable[[float], float]) -> Fraction:
    """The order in (1, 2^40) of least cost, on a logarithmic scale; any order is valid."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(lambda x: cost(1 + math.exp(x)), bounds=(-12, 27), method="bounded")
    return 1 + Fraction(math.exp(found.x)).limit_denominator(1 << 20)


def _overhead_float(order: float, delta: Fraction) -> float:
    return (_log_inverse(delta) + (order - 1) * math.log1p(-1 / order) - math.log(order)) / (
        order - 1
    )


def _log_inverse(delta: Fraction) -> float:
    return math.log(delta.denominator) - math.log(delta.numerator)


def _overhead(order: Fraction, delta: Fraction) -> Fraction:
    """``(ln(1/delta) + (a-1)·ln(1-1/a) - ln a) / (a-1)``, rounded up."""
    with localcontext() as context:
        context.prec = 60

        def ln(x: Fraction) -> Fraction:
            return Fraction(Decimal(x.numerator).ln()) - Fraction(Decimal(x.denominator).ln())

        value = (ln(1 / delta) + (order - 1) * ln(1 - 1 / order) - ln(order)) / (order - 1)
    return _up(value + Fraction(1, 10**30))


def _up(value: Fraction) -> Fraction:
    return Fraction(math.ceil(value * _GRID), _GRID)


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
