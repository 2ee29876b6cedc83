"""Chi-square tests of the samplers: they accept the right distribution, and reject ones 30 % off.

A check raises a false alarm with probability at most `ALARM`; a wrong distribution passes with
probability below 1e-9.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_noisy_max
from opendp.measures import max_divergence, zero_concentrated_divergence
from opendp.metrics import linf_distance
from opendp.mod import enable_features
from scipy.stats import chi2, chi2_contingency

from metricdp.accounting import Cost, Ledger
from metricdp.arguments import Floats, Ints
from metricdp.audit import distributions
from metricdp.audit.report import Check, Finding, refuted
from metricdp.audit.worlds import answered, finest
from metricdp.metrics import EuclideanMetric
from metricdp.privacy import HistogramQuery, PrivateDemand, _vault
from metricdp.privacy.selection import choose

ALARM = 1e-7
CHECK = "sampler's distribution"
FACTORS = (0.7, 1.3)
_CELLS = 40
_LEAST = 10.0
"""Number of cells for integers, and least expected draws of a cell: rarer outcomes are merged."""


def p_value(counts: Ints, probabilities: Floats) -> float:
    """Chi-square p-value of counts of independent draws, rare outcomes merged."""
    expected = probabilities * counts.sum()
    if counts[expected == 0].any():
        return 0.0
    rare = expected < _LEAST
    observed = np.r_[counts[~rare], counts[rare].sum()]
    wanted = np.r_[expected[~rare], expected[rare].sum()]
    # all rare outcomes together are too rare: merge them with the rarest other
    if wanted[-1] < _LEAST:
        at = int(np.argmin(np.where(wanted[:-1] > 0, wanted[:-1], np.inf)))
        observed[at], wanted[at] = observed[at] + observed[-1], wanted[at] + wanted[-1]
        observed, wanted = observed[:-1], wanted[:-1]
    if len(wanted) < 2:
        return 1.0
    return float(chi2.sf(((observed - wanted) ** 2 / wanted).sum(), len(wanted) - 1))


def agreement(one: Ints, other: Ints) -> float:
    """Chi-square p-value that two samples, given by counts of outcomes, have one distribution."""
    often = one + other >= 4 * _LEAST
    both = np.array([[*sample[often], sample[~often].sum()] for sample in (one, other)])
    return float(chi2_contingency(both[:, both.sum(axis=0) > 0]).pvalue)


def cells(log_pmf: Callable[[NDArray[Any], float], Floats], scale: float) -> tuple[Ints, Ints]:
    """Possible integers of noise, and a cell for each, of about equal probability."""
    z = np.arange(-math.ceil(45 * scale) - 5, math.ceil(45 * scale) + 6)
    below = np.cumsum(np.exp(log_pmf(z, scale))) - np.exp(log_pmf(z, scale)) / 2
    return z, np.minimum((below * _CELLS).astype(np.int64), _CELLS - 1)


def noise_p_values(noise: Ints, log_pmf: Callable[..., Floats], scale: float) -> list[float]:
    """p-values of integer noise for its distribution at `scale`, and at both wrong scales."""
    found = []
    for factor in (1.0, *FACTORS):
        z, cell = cells(log_pmf, scale * factor)
        probabilities = np.bincount(cell, np.exp(log_pmf(z, scale * factor)), _CELLS)
        at = np.clip(np.searchsorted(z, noise), 0, len(z) - 1)
        counts = np.bincount(cell[at], minlength=_CELLS)
        found.append(p_value(counts, probabilities / probabilities.sum()))
    return found


def judged(name: str, claim: str, p_values: list[float], n_draws: int) -> Finding:
    """A finding that passes if the right distribution is accepted and all others are rejected."""
    right, *wrong = p_values
    found = f"p = {right:.2g}; 30 % off: p ≤ {max(wrong):.0e}" if wrong else f"p = {right:.2g}"
    excess = math.inf if right < ALARM else 0.0
    passed = not excess and all(p < ALARM for p in wrong)
    return Finding(name, f"{claim}, {n_draws:,} draws", found, CHECK, passed, excess=excess)


def noise(name: str, kind: str, epsilon: Fraction, quick: bool) -> Finding:
    """Noise of the gate's answers against the scale on the receipt."""
    n = 20_000 if quick else 100_000
    universe = EuclideanMetric(np.arange(n, dtype=float)[:, None])
    demand = PrivateDemand(universe, np.arange(n))
    cost = Cost.of(epsilon) if kind == "laplace" else Cost.zcdp(epsilon, Fraction(1, 1000))
    ledger = Ledger(cost.epsilon, cost.delta)
    release = answered(HistogramQuery(finest(universe)), cost, demand, ledger.charge(cost))
    scale = release.receipt.mechanisms[0].scale
    log_pmf = distributions.log_laplace if kind == "laplace" else distributions.log_gaussian
    return judged(name, f"scale {scale:.4g}", noise_p_values(release.values - 1, log_pmf, scale), n)


CONTESTS = {
    "five candidates": (np.array([0, 1, 3, 3, -5]), Fraction(1, 2)),
    "fifty candidates, scores to 2^60": (
        np.array([2**60 - (7 * i % 50) * 10**15 for i in range(50)]),
        Fraction(1, 10**16),
    ),
}


def chosen(scores: Ints, eta: Fraction, distribution: str, n: int) -> Ints:
    """Number of wins of each candidate in n selections by the real `choose`, in two blocks."""
    half = len(scores) // 2
    blocks = [scores[:half], scores[half:]]
    return np.bincount([choose(blocks, eta, distribution) for _ in range(n)], minlength=len(scores))  # type: ignore[arg-type]


def selection(name: str, distribution: str, contest: str, quick: bool) -> Finding:
    """Real selections against the exact distribution, and against those with eta 30 % off."""
    scores, eta = CONTESTS[contest]
    n = 20_000 if quick else 10**6 if contest == "five candidates" else 200_000
    counts = chosen(scores, eta, distribution, n)
    etas = [eta, *(eta * Fraction(factor).limit_denominator(10) for factor in FACTORS)]
    log_p = distributions.DISTRIBUTIONS[distribution]
    p_values = [p_value(counts, np.exp(log_p(scores, each))) for each in etas]
    return judged(name, distribution, p_values, n)


def against_opendp(name: str, distribution: str, quick: bool) -> Finding:
    """Real selections against OpenDP's noisy maximum."""
    enable_features("contrib")
    scores, eta = CONTESTS["five candidates"]
    theirs_of = (
        max_divergence() if distribution == "permute-and-flip" else zero_concentrated_divergence()
    )
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64", monotonic=True)
    draw = make_noisy_max(*space, theirs_of, scale=float(1 / eta))
    n, many = (4_000, 8_000) if quick else (30_000, 100_000)
    theirs = np.bincount([draw(scores.tolist()) for _ in range(n)], minlength=len(scores))
    right = agreement(chosen(scores, eta, distribution, many), theirs)
    etas = [eta * Fraction(factor).limit_denominator(10) for factor in FACTORS]
    wrong = [agreement(chosen(scores, each, distribution, many), theirs) for each in etas]
    return judged(name, f"OpenDP, {n:,} draws; ours", [right, *wrong], many)


def contributions(name: str, quick: bool) -> Finding:
    """Two records kept of each user's four: all six pairs must be equally likely."""
    n = 40_000 if quick else 100_000
    universe = EuclideanMetric(np.arange(4 * n, dtype=float)[:, None])
    demand = PrivateDemand(
        universe, np.arange(4 * n), user=np.repeat(np.arange(n), 4), max_contributions=2
    )
    kept = _vault._open(demand)
    if kept.shape != (2 * n,):
        return refuted(name, "2 records a user", f"{len(kept) / n:.3g} a user", CHECK, True)
    pairs = (kept % 4).reshape(n, 2)
    counts = np.array([((pairs == pair).all(axis=1)).sum() for pair in combinations(range(4), 2)])
    skewed = [np.array([factor, *5 * [1.0]]) / (factor + 5) for factor in FACTORS]
    p_values = [p_value(counts, distribution) for distribution in (np.full(6, 1 / 6), *skewed)]
    return judged(name, "uniform over pairs", p_values, n)


def sampler_checks() -> Iterator[Check]:
    """All checks."""
    for kind, words in (("laplace", "discrete Laplace"), ("gaussian", "discrete Gaussian")):
        for epsilon, essential in (
            (Fraction(1, 2), True),
            (Fraction(3), kind == "gaussian"),
            (Fraction(1, 5), kind == "laplace"),  # scale 5: where OpenDP 0.14.0 was biased
            (Fraction(1, 50), False),
        ):
            if kind == "laplace" or epsilon > Fraction(1, 5):
                yield Check.of(f"{words}, ε = {epsilon}", essential, noise, kind, epsilon)
    for distribution in distributions.DISTRIBUTIONS:
        for contest in CONTESTS:
            short = contest == "five candidates"
            yield Check.of(f"{distribution}, {contest}", short, selection, distribution, contest)
        yield Check.of(f"{distribution}, against OpenDP", True, against_opendp, distribution)
    yield Check.of("contribution bounding, 2 of 4", True, contributions)
