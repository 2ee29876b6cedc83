"""Intervals from the distribution of the noise: they hold for every demand.

Of exact answers x, y = x + z was released; z is independent, symmetric, discrete Laplace or
Gaussian.

- A *linear* statistic c·x has the estimate c·y, with error c·z.
- A *ratio* a·x / b·x is handled as by Fieller [1]_: all t for which (a - t b)·y is not refuted.
- A *quantile* lies beyond an edge exactly if the share up to that edge is less than q. Edges are
  refuted in turn from one end, so one test at level alpha / 2 is at stake on each side.

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

from metricdp.arrays import Floats, Singles

LEVEL = 0.95  # custom
_CLOSE = 1e-5  # share of an interval's half by which its end may be too wide, against time
_DRAWS = 1 << 16  # width of the ends against time and memory


@dataclass(frozen=True)
class Interval:
    """An estimate and the ends of its interval: floats, or arrays of one shape.

    Each entry's interval holds the truth with probability `level`; of several entries, each by
    itself.
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
        """Half the interval's width: what stands behind "±"."""
        return (np.asarray(self.high) - np.asarray(self.low)) / 2

    def __str__(self) -> str:
        return f"{_short(self.estimate)} [{_short(self.low)}, {_short(self.high)}]"


class Noisy:
    """Released values, each with independent noise of a known distribution.

    `values` (n_values,); `scales` (n_values,): of each value's noise; 0 for exact ones;
    `distributions`: "discrete Laplace", "discrete Gaussian" or "exact", one a value; `units`
    (n_values,): what a step of each value stands for; values and noise are stated in it. 1 by
    default; `known` (n_known, n_values): linear statistics whose exact value is public: two
    releases count the same records, or the number of records is no secret. They take noise away
    from everything that is asked; `off` (n_values,): how far, besides noise, each value may be from
    what it tells: of one that was rounded, or (infinity) that may have saturated. 0 by default.
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
        self._drawn: dict[int, Singles] = {}
        spread = {"exact": 0.0, "discrete Laplace": 2.0, "discrete Gaussian": 1.0}
        variance = [
            spread[distribution] * (s * u) ** 2
            for (distribution, s), u in zip(self._distributions, self._units)
        ]
        self._known = None if known is None or not len(known[0]) else known
        if self._known is not None:
            weighted = self._known[0] * np.array(variance)
            self._remove = np.linalg.pinv(weighted @ self._known[0].T) @ weighted

    def independent(self) -> Noisy:
        """The same without what is known of all together: for statistics of few values each, which
        it would make statistics of all.
        """
        same = copy(self)
        same._known = None
        return same

    def linear(self, coefficients: Floats, level: float = LEVEL) -> tuple[float, float]:
        """Estimate of a linear statistic, and how far the truth may be on either side."""
        value, draws, off = self._statistic(coefficients)
        return value, _beyond(draws, 1 - level) + off

    def number(self, coefficients: Floats, level: float = LEVEL) -> Interval:
        """Interval of a linear statistic that cannot be negative, such as a number of records."""
        value, reach = self.linear(coefficients, level)
        return Interval(max(value, 0.0), max(value - reach, 0.0), max(value + reach, 0.0), level)

    def counts(self, which: slice, level: float = LEVEL) -> Interval:
        """Interval of every count of one release, by itself; none is negative."""
        rows = np.eye(len(self.values))[which]
        _, reach = self.linear(rows[0], level)  # the noise of all counts is of one distribution
        value = np.array([self._estimate(row)[0] for row in rows])
        estimate, low, high = np.maximum([value, value - reach, value + reach], 0.0)
        return Interval(estimate, low, high, level)

    def ratio(
        self, above: Floats, below: Floats, within: tuple[float, float], level: float = LEVEL
    ) -> Interval:
        """Interval of ``above·x / below·x``, known to lie within public bounds.

        The values that are not refuted are an interval, or everything but one: on either side of
        the estimate the statistic's distance from 0 grows linearly, and its noise is convex in t.
        Where noise has gone so far beyond a bound that even the bound is refuted, nothing is left
        within: the interval is then what is as near to the bound as the noise reaches. That happens
        only where the truth is refuted too, so it costs no coverage.
        """
        (top, up, over), (bottom, down, under) = self._statistic(above), self._statistic(below)
        low, high = within

        def reached(t: float) -> float:
            return _beyond(up - t * down, 1 - level) + (over + abs(t) * under if t else over)

        def excess(t: float) -> float:
            """Positive if t is refuted."""
            return abs(top - t * bottom) - reached(t)

        estimate = (low + high) / 2 if bottom <= 0 else min(max(top / bottom, low), high)
        if bottom > 0 and all(excess(t) > 0 for t in (estimate, low, high)):
            reach = reached(estimate) / bottom
            near = max(estimate - reach, low), min(estimate + reach, high)
            return Interval(float(estimate), float(near[0]), float(near[1]), level)
        least = excess(estimate)
        ends = [_crossing(excess, (estimate, least), (end, excess(end))) for end in within]
        return Interval(float(estimate), float(ends[0]), float(ends[1]), level)

    def quantile(self, q: float, bins: slice, edges: Floats, level: float = LEVEL) -> Interval:
        """Interval of the q-quantile of what was counted in bins with these ends."""
        n = len(edges) - 1
        up_to = np.zeros((n, len(self.values)))
        up_to[:, bins] = np.tri(n) - q
        tests = [self.linear(row, level) for row in up_to]
        first = next((i for i, (value, reach) in enumerate(tests) if value >= -reach), n - 1)
        last = (
            n
            - 1
            - next((i for i, (value, reach) in enumerate(tests[-2::-1]) if value <= reach), n - 1)
        )
        low = float(edges[first])
        high = float(edges[max(last, first) + 1])
        held = np.maximum(self.values[bins], 0.0)
        estimate = (low + high) / 2
        if held.any():
            cumulated = np.r_[0.0, np.cumsum(held)]
            estimate = float(np.interp(q * cumulated[-1], cumulated, edges))
        return Interval(min(max(estimate, low), high), low, high, level)

    def _statistic(self, coefficients: Floats) -> tuple[float, Floats, float]:
        """An unbiased estimate of ``coefficients·x``, draws of its error, and a slack."""
        value, coefficients = self._estimate(coefficients)
        draws = np.zeros(_DRAWS)
        asked = np.flatnonzero(coefficients)
        for i in asked:
            draws += coefficients[i] * self._noise(int(i))
        return value, draws, float(np.abs(coefficients[asked]) @ self._off[asked])

    def _estimate(self, coefficients: Floats) -> tuple[float, Floats]:
        """The unbiased estimate of least variance, and the coefficients of the noise in it."""
        surely = 0.0
        if self._known is not None:
            contrasts, totals = self._known
            shift = self._remove @ coefficients
            coefficients = coefficients - shift @ contrasts
            surely = float(shift @ totals)
        return float(coefficients @ self.values + surely), coefficients

    def _noise(self, i: int) -> Singles:
        """Draws of the noise of one value, by public coins: they touch no record."""
        if i not in self._drawn:
            distribution, scale = self._distributions[i]
            coins = np.random.default_rng([20261122, i])
            drawn = _draws(distribution, float(scale), coins) * self._units[i]
            self._drawn[i] = drawn.astype(np.float32)
        return self._drawn[i]


def _crossing(
    excess: Callable[[float], float], inside: tuple[float, float], outside: tuple[float, float]
) -> float:
    """Where what is refuted begins, bracketed from outside: between a value that is not refuted and
    one that is, or the latter if both are the same. By chords and halves in turn: the excess is
    nearly linear.
    """
    estimate, end = inside[0], outside[0]
    if outside[1] <= 0 or inside[1] > 0:
        return end
    for step in range(60):
        width = outside[0] - inside[0]
        if abs(width) <= _CLOSE * abs(outside[0] - estimate):
            break
        chord = inside[1] / (inside[1] - outside[1]) if step % 2 == 0 else 0.5
        t = inside[0] + width * chord
        found = t, excess(t)
        inside, outside = (inside, found) if found[1] > 0 else (found, outside)
    return outside[0]


def _beyond(draws: Floats, alpha: float) -> float:
    """What the absolute value of symmetric noise exceeds with probability at most alpha."""
    n = len(draws)
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
