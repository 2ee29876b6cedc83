"""The least epsilon for a target: nine runs in ten cost at most a given factor of the best known.
It is estimated from the runs of a plan, all on synthetic demand.

**Privacy.** Arithmetic on public simulations.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from metricdp.arguments import Floats, shown
from metricdp.errors import InputError

LADDER = ("0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10")
"""Default budgets that a plan with a target tries."""
REPEATS = 6
"""Synthetic demands of each shape. With 3, a sixth of 200 plans gave too small an epsilon, with 6
a thirtieth, at twice the time.
"""
NINE_IN_TEN = 0.9
"""Share of runs that must stay within the target, and the quantile reported as "9 in 10"."""
CERTAIN = 0.95
"""Share of bootstrap resamples for which the reported epsilon suffices: see `REPEATS`."""
_RESAMPLES = 200
"""Bootstrap resamples: more would change the reported digits less than other demands do."""


class Needed(NamedTuple):
    """The epsilon that a target needs.

    Attributes
    ----------
    epsilon : float or None
        Upper confidence bound: enough for nine runs in ten, for about nine plans in ten. None if
        the largest budget tried is not enough.
    estimate : float or None
        Point estimate of the least epsilon.
    """

    epsilon: float | None
    estimate: float | None


def needed(epsilons: tuple[Fraction, ...], excess: Floats, target: float) -> Needed:
    """The least epsilon for a target.

    Parameters
    ----------
    epsilons : tuple of Fraction
        Ascending.
    excess : ndarray of float64, shape (n_epsilons, n_demands)
        Relative excess cost of each run over the best known.
    target : float
        Largest cost / best known of nine runs in ten; above 1.

    Notes
    -----
    The 0.9-quantile of the excess is computed at each budget and interpolated in between, linearly
    in logarithms. `Needed.epsilon` suffices for 95 % of bootstrap resamples of the demands.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from metricdp.running.target import needed
    >>> excess = np.array([[0.4, 0.4], [0.1, 0.1], [0.025, 0.025]])
    >>> needed((Fraction(1, 4), Fraction(1), Fraction(4)), excess, 1.05)
    Needed(epsilon=2.0, estimate=2.0)
    """
    sizes = np.array([float(epsilon) for epsilon in epsilons])
    n_demands = excess.shape[1]
    if not n_demands:
        return Needed(None, None)
    coins = np.random.default_rng(0)
    resampled = [
        _least(sizes, excess[:, coins.integers(0, n_demands, n_demands)], target - 1)
        for _ in range(_RESAMPLES)
    ]
    likely = _least(sizes, excess, target - 1)
    enough = max(float(np.quantile(resampled, CERTAIN, method="higher")), likely)
    return Needed(_rounded(enough), _rounded(likely))


def _least(sizes: Floats, excess: Floats, allowed: float) -> float:
    """The epsilon from which on the quantile is at most `allowed`; infinite if there is none."""
    high = np.quantile(excess, NINE_IN_TEN, axis=1, method="higher")
    high = np.maximum.accumulate(high[::-1])[::-1]  # a larger budget is never worse
    if high[-1] > allowed:
        return np.inf
    i = int(np.argmax(high <= allowed))
    if i == 0:
        return float(sizes[0])
    if not np.isfinite(high[i - 1]):
        return float(sizes[i])
    below = max(high[i], allowed / 10)  # zero has no logarithm
    part = np.log(high[i - 1] / allowed) / np.log(high[i - 1] / below)
    return float(sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** part)


def _rounded(epsilon: float) -> float | None:
    """Rounded up to two digits; None if infinite."""
    if not np.isfinite(epsilon):
        return None
    step = 10.0 ** (np.floor(np.log10(epsilon)) - 1)
    return float(f"{np.ceil(epsilon / step - 1e-9) * step:.2g}")


def checked_target(target: float | str) -> float:
    """The ratio of costs from a number, as 1.03, or a percentage above the best, as "3%"."""
    rule = f"target must be a ratio above 1, as 1.03, or a percentage, as '3%'; got {shown(target)}"
    text = str(target).strip()
    ratio = 0.0
    with suppress(ValueError):
        ratio = 1 + float(text[:-1]) / 100 if text.endswith("%") else float(text)
    if isinstance(target, bool) or not 1 < ratio < 1e6:
        raise InputError(rule)
    return ratio
