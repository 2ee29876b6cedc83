"""Intervals from the known distribution of the noise: they cover, and would not with the wrong
distribution."""

import numpy as np
import pytest
from scipy.stats import binom

from metricdp.solvers.estimate import intervals
from metricdp.solvers.estimate.intervals import Interval, Noisy, verdict

RUNS = 400
FEWEST = int(binom.ppf(1e-7, RUNS, 0.95))
"""Fewer covered of so many happen by chance once in 10^7."""


@pytest.fixture
def few_draws(monkeypatch):
    """Fewer public draws, for speed: the intervals are a little wider, and cover as well."""
    monkeypatch.setattr(intervals, "_DRAWS", 1 << 12)


def laplace(scale: float, size: int, coins: np.random.Generator) -> np.ndarray:
    p = -np.expm1(-1 / scale)
    return coins.geometric(p, size) - coins.geometric(p, size)


def covered(exact, statistic, truth, scale=20.0, claimed=None, known=None) -> int:
    """How many of many intervals hold the truth."""
    coins = np.random.default_rng(5)
    n, claimed = len(exact), claimed or scale
    reported = np.full(n, claimed), ["discrete Laplace"] * n, None, known
    first = Noisy(exact, *reported)
    hits = 0
    for _ in range(RUNS):
        noisy = Noisy(exact + laplace(scale, n, coins), *reported)
        noisy._cached_draws = first._cached_draws  # the same public draws: made once
        found = statistic(noisy)
        hits += bool(found.low <= truth <= found.high)
    return hits


def ratio(above, most):
    """The interval of a ratio of weighted counts to all, at most `most`."""
    return lambda noisy: noisy.ratio(np.array(above, float), np.ones(len(above)), (0.0, most))


def quantile(q, n):
    """The interval of a quantile of n counts a step apart."""
    return lambda noisy: noisy.quantile(q, slice(n), np.arange(n + 1.0))


CASES = {
    "mean": ([900, 300], ratio([0, 4], 4.0), 1.0),
    "share of few": ([30, 20, 10], ratio([1, 1, 0], 1.0), 50 / 60),
    "share of nobody": ([0, 500], ratio([1, 0], 1.0), 0.0),
    "median": ([100, 300, 350, 200, 50], quantile(0.5, 5), 2 + 100 / 350),
    "largest decile": ([400, 300, 230, 70], quantile(0.9, 4), 2 + 200 / 230),
}


@pytest.mark.parametrize("name", CASES)
def test_they_cover_at_their_level(name, few_draws):
    exact, statistic, truth = CASES[name]
    assert covered(np.array(exact, float), statistic, truth) >= FEWEST


@pytest.mark.parametrize("name", ["mean", "share of few"])
def test_they_would_not_with_noise_of_twice_the_claimed_scale(name, few_draws):
    exact, statistic, truth = CASES[name]
    exact = np.array(exact, float) * (1 if name == "mean" else 20)
    assert covered(exact, statistic, truth, scale=20.0, claimed=10.0) < FEWEST


def test_a_public_total_makes_them_narrower_and_they_still_cover(few_draws):
    exact = np.array([60.0, 40.0])
    known = (np.ones((1, 2)), np.array([100.0]))

    def share(noisy):
        return noisy.ratio(np.array([1.0, 0.0]), np.ones(2), (0.0, 1.0))

    assert covered(exact, share, 0.6, known=known) >= FEWEST
    scales, distributions = np.full(2, 20.0), ["discrete Laplace"] * 2
    wide, narrow = (
        share(Noisy(exact, scales, distributions)),
        share(Noisy(exact, scales, distributions, None, known)),
    )
    assert narrow.half_width < wide.half_width


def test_counts_linear_and_exact_values():
    noisy = Noisy(np.array([5, 100]), np.zeros(2), ["exact", "exact"])
    assert noisy.linear(np.ones(2)) == (105.0, 0.0)
    counts = noisy.counts(slice(2))
    assert counts.low.tolist() == counts.high.tolist() == [5.0, 100.0]
    assert noisy.quantile(0.5, slice(2), np.array([0.0, 1.0, 2.0])).low == 1.0


def test_without_any_records_everything_is_possible():
    noisy = Noisy(np.array([0, 0]), np.full(2, 50.0), ["discrete Laplace"] * 2)
    found = noisy.ratio(np.array([0.0, 7.0]), np.ones(2), (0.0, 7.0))
    assert (found.low, found.high) == (0.0, 7.0)


@pytest.mark.parametrize("scale", [0.4, 3.0, 5000.0])
def test_draws_of_gaussian_noise_have_its_distribution(scale):
    draws = Noisy(np.zeros(1), np.array([scale]), ["discrete Gaussian"])._noise(0)
    support = np.arange(-200, 201)
    distribution = np.exp(-(support**2) / (2 * scale**2))
    variance = (distribution / distribution.sum() @ support**2) if scale < 10 else scale**2
    # the sum of squares of 2^16 draws is off by 5.5 standard errors once in 10^7
    assert abs((draws**2).mean() / variance - 1) < 5.5 * np.sqrt(12 / len(draws))


def test_verdicts():
    assert verdict(Interval(-2.0, -3.0, -1.0)) == "yes"
    assert verdict(Interval(2.0, 1.0, 3.0)) == "no"
    assert verdict(Interval(0.5, -1.0, 3.0)) == "cannot tell"


def test_noise_beyond_a_bound_leaves_what_is_near_to_it():
    """All 8,000 records are within: the interval must not say that perhaps none is."""
    noisy = Noisy(np.array([8060, -40]), np.full(2, 10.0), ["discrete Laplace"] * 2)
    found = noisy.ratio(np.array([1.0, 0.0]), np.ones(2), (0.0, 1.0))
    assert (found.estimate, found.high) == (1.0, 1.0) and 0.99 < found.low < 1.0
    other = noisy.ratio(np.array([0.0, 1.0]), np.ones(2), (0.0, 1.0))
    assert (other.estimate, other.low) == (0.0, 0.0) and 0.0 < other.high < 0.01
