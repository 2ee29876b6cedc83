"""Intervals from the distribution of the noise: they hold for every demand.

Of exact answers x, y = x + z was released; z is independent, symmetric, discrete Laplace or
Gaussian.

- A *linear* statistic c·x has the estimate c·y, with error c·z.
- A *ratio* a·x / b·x has Fieller's interval [1]_: all t for which (a - t b)·y is not rejected.
- A *quantile* lies beyond an edge exactly if the share up to that edge is less than q. Edges are
  rejected in order from each end, so one test at level alpha / 2 can fail on each side.

Quantiles of c·z come from 2**16 public draws of z, five standard errors beyond the level.

References
----------
.. [1] E. C. Fieller, "Some problems in interval estimation", J. Royal Statistical Society B 16,
   1954.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Singles

LEVEL = 0.95  # custom
_TOLERANCE = 1e-5  # relative error of an interval's end, against time
_DRAWS = 1 << 16  # narrower ends against time and memory


@dataclass(frozen=True)
class Interval:
    """An estimate and the ends of its interval: floats, or arrays of one shape.

    Each entry's interval holds the truth with probability `level`, not all of them together.
    """

    estimate: Any
    low: Any
    high: Any
    level: float = LEVEL

    @property
    def ends(self) -> tuple[Any, Any, Any]:
        """Estimate, low and high."""
        return self.estimate, self.low, self.high

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return dict(zip(("estimate", "low", "high"), map(_plain, self.ends)))

    @property
    def half_width(self) -> Any:
        """Half the width: the number behind "±"."""
        return (np.asarray(self.high) - np.asarray(self.low)) / 2

    def __str__(self) -> str:
        return f"{_short(self.estimate)} [{_short(self.low)}, {_short(self.high)}]"


class Noisy:
    """Released values, each with independent noise of a known distribution.

    `values`, `scales` (n_values,): values, and the scale of their noise, 0 if exact;
    `distributions`: "discrete Laplace", "discrete Gaussian" or "exact", one a value; `units`
    (n_values,): what a step of a value and its noise stands for, by default 1; `known` (n_known,
    n_values) and (n_known,): linear statistics of known value, as when two releases count the same
    records: they reduce the noise of all statistics; `off` (n_values,): error of each value besides
    noise, by rounding, or infinite if it may have saturated; by default 0.
    """

    def __init__(
        self,
        values: NDArray[Any],
        scales: Floats,
        distributions: Sequence[str],
        units: Floats | None = None,
        known: tuple[Floats, Floats] | None = None,
        off: Floats | None = None,
    ) -> None:
        self._units = np.ones(len(values)) if units is None else units
        self._off = np.zeros(len(values)) if off is None else off * self._units
        self.values = np.asarray(values, np.float64) * self._units
        self._distributions = list(zip(distributions, scales))
        self._cached_draws: dict[int, Singles] = {}
        spread = {"exact": 0.0, "discrete Laplace": 2.0, "discrete Gaussian": 1.0}
        variance = [
            spread[distribution] * (s * u) ** 2
            for (distribution, s), u in zip(self._distributions, self._units)
        ]
        self._known = None if known is None or not len(known[0]) else known
        if self._known is not None:
            weighted = self._known[0] * np.array(variance)
            self._correction = np.linalg.pinv(weighted @ self._known[0].T) @ weighted

    def independent(self) -> Noisy:
        """The same without `known` statistics, which would turn statistics of few values into ones
        of all.
        """
        same = copy(self)
        same._known = None
        return same

    def linear(self, coefficients: Floats) -> tuple[float, float]:
        """Estimate of a linear statistic, and the half-width of its interval."""
        value, draws, off = self._statistic(coefficients)
        return value, _tail_bound(draws) + off

    def number(self, coefficients: Floats) -> Interval:
        """Interval of a linear statistic that cannot be negative, such as a number of records."""
        value, reach = self.linear(coefficients)
        return Interval(max(value, 0.0), max(value - reach, 0.0), max(value + reach, 0.0))

    def counts(self, which: slice) -> Interval:
        """Intervals of the counts of one release, each by itself; none is negative."""
        rows = np.eye(len(self.values))[which]
        _, reach = self.linear(rows[0])  # the noise of all counts is of one distribution
        value = np.array([self._estimate(row)[0] for row in rows])
        estimate, low, high = np.maximum([value, value - reach, value + reach], 0.0)
        return Interval(estimate, low, high)

    def ratio(self, above: Floats, below: Floats, within: tuple[float, float]) -> Interval:
        """Interval of ``above·x / below·x``, known to lie within public bounds.

        The values not rejected are an interval, or all but one: on either side of the estimate the
        statistic's distance from 0 grows linearly in t, and the width of its noise is convex. If
        noise makes even the bound be rejected, none is left: the interval then lies as near to the
        bound as the noise allows. That happens only if the truth is rejected too, so it costs no
        coverage.
        """
        value_above, error_above, slack_above = self._statistic(above)
        value_below, error_below, slack_below = self._statistic(below)
        low, high = within

        def half_width_at(t: float) -> float:
            slack = slack_above + abs(t) * slack_below if t else slack_above
            return _tail_bound(error_above - t * error_below) + slack

        def excess(t: float) -> float:
            """Positive if t is rejected."""
            return abs(value_above - t * value_below) - half_width_at(t)

        estimate = (
            (low + high) / 2 if value_below <= 0 else min(max(value_above / value_below, low), high)
        )
        if value_below > 0 and all(excess(t) > 0 for t in (estimate, low, high)):
            reach = half_width_at(estimate) / value_below
            near = max(estimate - reach, low), min(estimate + reach, high)
            return Interval(float(estimate), float(near[0]), float(near[1]))
        least = excess(estimate)
        ends = [_bracketed_root(excess, (estimate, least), (end, excess(end))) for end in within]
        return Interval(float(estimate), float(ends[0]), float(ends[1]))

    def quantile(self, q: float, bins: slice, edges: Floats) -> Interval:
        """Interval of the q-quantile of what was counted in bins with these edges."""
        n = len(edges) - 1
        excess_shares = np.zeros((n, len(self.values)))
        excess_shares[:, bins] = np.tri(n) - q
        tests = [self.linear(row) for row in excess_shares]
        first = next((i for i, (value, reach) in enumerate(tests) if value >= -reach), n - 1)
        above = next((i for i, (value, reach) in enumerate(tests[-2::-1]) if value <= reach), n - 1)
        last = n - 1 - above
        low = float(edges[first])
        high = float(edges[max(last, first) + 1])
        positive = np.maximum(self.values[bins], 0.0)
        estimate = (low + high) / 2
        if positive.any():
            cumulated = np.r_[0.0, np.cumsum(positive)]
            estimate = float(np.interp(q * cumulated[-1], cumulated, edges))
        return Interval(min(max(estimate, low), high), low, high)

    def _statistic(self, coefficients: Floats) -> tuple[float, Floats, float]:
        """Unbiased estimate of ``coefficients·x``, draws of its noise, and other error."""
        value, coefficients = self._estimate(coefficients)
        draws = np.zeros(_DRAWS)
        nonzero = np.flatnonzero(coefficients)
        for i in nonzero:
            draws += coefficients[i] * self._noise(int(i))
        return value, draws, float(np.abs(coefficients[nonzero]) @ self._off[nonzero])

    def _estimate(self, coefficients: Floats) -> tuple[float, Floats]:
        """The unbiased estimate of least variance, and the coefficients of its noise."""
        known_part = 0.0
        if self._known is not None:
            contrasts, totals = self._known
            shift = self._correction @ coefficients
            coefficients = coefficients - shift @ contrasts
            known_part = float(shift @ totals)
        return float(coefficients @ self.values + known_part), coefficients

    def _noise(self, i: int) -> Singles:
        """Draws of one value's noise, by public coins: they touch no record."""
        if i not in self._cached_draws:
            distribution, scale = self._distributions[i]
            coins = np.random.default_rng([20261122, i])
            drawn = _draws(distribution, float(scale), coins) * self._units[i]
            self._cached_draws[i] = drawn.astype(np.float32)
        return self._cached_draws[i]


def _bracketed_root(
    excess: Callable[[float], float], inside: tuple[float, float], outside: tuple[float, float]
) -> float:
    """The boundary of the values not rejected, between `inside` and `outside` (points with their
    excess), or the end if that is not rejected. By secants and bisection: the excess is nearly
    linear.
    """
    estimate, end = inside[0], outside[0]
    if outside[1] <= 0 or inside[1] > 0:
        return end
    for step in range(60):
        width = outside[0] - inside[0]
        if abs(width) <= _TOLERANCE * abs(outside[0] - estimate):
            break
        chord = inside[1] / (inside[1] - outside[1]) if step % 2 == 0 else 0.5
        t = inside[0] + width * chord
        found = t, excess(t)
        inside, outside = (inside, found) if found[1] > 0 else (found, outside)
    return outside[0]


def _tail_bound(draws: Floats) -> float:
    """The absolute value of symmetric noise exceeds this with probability at most 1 - `LEVEL`."""
    n, alpha = len(draws), 1 - LEVEL
    safe = alpha - 5 * math.sqrt(alpha * (1 - alpha) / n)
    place = min(n - 1, n - int(safe * n))
    return float(np.partition(np.abs(draws), place)[place])


def _draws(distribution: str, scale: float, coins: np.random.Generator) -> Floats:
    if distribution == "exact" or scale == 0:
        return np.zeros(_DRAWS)
    if distribution == "discrete Laplace":  # the difference of two geometric variables
        p = -math.expm1(-1 / scale)
        return (coins.geometric(p, _DRAWS) - coins.geometric(p, _DRAWS)).astype(np.float64)
    if distribution == "discrete Gaussian":
        return _discrete_gaussian(scale, coins)
    raise ValueError(f"no such distribution of noise: {distribution}")


def _discrete_gaussian(scale: float, coins: np.random.Generator) -> Floats:
    if scale > 1e3:  # rounding a normal variable is right to less than 1e-6 of its scale
        return np.rint(coins.normal(0, scale, _DRAWS))
    reach = math.ceil(12 * scale) + 2
    support = np.arange(-reach, reach + 1)
    distribution = np.exp(-(support**2) / (2 * scale**2))
    return coins.choice(support, _DRAWS, p=distribution / distribution.sum()).astype(np.float64)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=4, threshold=6)


Verdict = Literal["yes", "no", "cannot tell"]


def verdict(difference: Interval) -> Verdict:
    """Whether a difference of costs is surely negative: "does the first serve better?"."""
    if difference.high < 0:
        return "yes"
    return "no" if difference.low > 0 else "cannot tell"
