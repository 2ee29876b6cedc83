"""The least epsilon with which nine draws in ten come near enough to the best: from the runs of a
plan, all of them on made-up demand.

**Privacy.** Arithmetic on public simulations.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from metricdp.arguments import shown
from metricdp.arrays import Floats
from metricdp.errors import InputError

LADDER = ("0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10")
"""Budgets that are tried for a target, unless the caller says otherwise."""
REPEATS = 6
"""Demands of a shape: half as many made a sixth of 200 plans too small, these a thirtieth."""
USUAL = 0.9
"""Share of the draws that stay within the target."""
CERTAIN = 0.95
"""Share of the resamples for which what is reported must be enough: see `REPEATS`."""
_DRAWS = 200
"""Resamples: more move the two digits that are reported by less than other demands do."""


class Needed(NamedTuple):
    """What a target needs.

    Attributes
    ----------
    epsilon : float or None
        Enough for nine draws in ten, with a chance of some nine in ten; None if the largest budget
        tried is not.
    estimate : float or None
        The best guess of the least epsilon, without that certainty.
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
        Cost of every run beyond that of the best known, as a share of it.
    target : float
        Cost / best that nine runs in ten may reach: above 1.

    Notes
    -----
    At each budget nine runs in ten stay below a quantile; between two budgets its logarithm is
    interpolated. The same is done for resamples of the made-up demands (bootstrap), and
    `Needed.epsilon` is what is enough for 95 % of them.

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
        for _ in range(_DRAWS)
    ]
    likely = _least(sizes, excess, target - 1)
    enough = max(float(np.quantile(resampled, CERTAIN, method="higher")), likely)
    return Needed(_rounded(enough), _rounded(likely))


def _least(sizes: Floats, excess: Floats, allowed: float) -> float:
    """Where the quantile falls to what is allowed, for good; infinite if it does not."""
    high = np.quantile(excess, USUAL, axis=1, method="higher")
    high = np.maximum.accumulate(high[::-1])[::-1]  # a larger budget is never worse
    if high[-1] > allowed:
        return np.inf
    i = int(np.argmax(high <= allowed))
    if i == 0:
        return float(sizes[0])
    if not np.isfinite(high[i - 1]):
        return float(sizes[i])
    below = max(high[i], allowed / 10)  # of nothing no slope can be estimated
    part = np.log(high[i - 1] / allowed) / np.log(high[i - 1] / below)
    return float(sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** part)


def _rounded(epsilon: float) -> float | None:
    """Up to two digits; None of what is infinite."""
    if not np.isfinite(epsilon):
        return None
    step = 10.0 ** (np.floor(np.log10(epsilon)) - 1)
    return float(f"{np.ceil(epsilon / step - 1e-9) * step:.2g}")


def checked_target(target: float | str) -> float:
    """A ratio of costs, as 1.03, or a percentage beyond the best, as "3%"."""
    rule = f"target must be a ratio above 1, as 1.03, or a percentage, as '3%'; got {shown(target)}"
    text = str(target).strip()
    ratio = 0.0
    with suppress(ValueError):
        ratio = 1 + float(text[:-1]) / 100 if text.endswith("%") else float(text)
    if isinstance(target, bool) or not 1 < ratio < 1e6:
        raise InputError(rule)
    return ratio
