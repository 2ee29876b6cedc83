"""Noise: its distribution, its price, which is drawn at the border between the distributions, and
what is not drawn.
"""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import chi2

import metricdp as mdp
from metricdp.accounting import Cost, Ledger
from metricdp.errors import BudgetError, InputError
from metricdp.kernels.scores import CAP
from metricdp.privacy import CountQuery, HistogramQuery, LevelsQuery, PrivateDemand, measure, noise
from metricdp.privacy.noise import DiscreteGaussian, DiscreteLaplace, best_noise, gaussian_scale
from tests import cases, refuses, tries
from tests.privacy_worlds import THREE, TWO, Labels, all_demands, finest, line, neighbors

ZCDP = Cost.zcdp(1, "1e-6")


@pytest.mark.parametrize(("l1", "square", "epsilon"), [(3, 5, "1/2"), (2, 4, 3), (7, 9, "5/4")])
def test_the_distribution_of_less_variance_is_drawn(l1, square, epsilon):
    """2 L1² / epsilon² against L2² / (2 rho), just above and below the tie."""
    price = Fraction(epsilon)
    tie = square * price**2 / (4 * l1**2)
    for rho, kind in ((tie * Fraction(99, 100), DiscreteLaplace), (tie, DiscreteLaplace)):
        assert isinstance(best_noise(l1, square, Cost(price, Fraction(9, 10), rho), None), kind)
    more = Cost(price, Fraction(9, 10), tie * Fraction(101, 100))
    assert isinstance(best_noise(l1, square, more, None), DiscreteGaussian)
    assert isinstance(best_noise(l1, 0, more, None), DiscreteLaplace)
    assert isinstance(best_noise(l1, square, Cost(price), None), DiscreteLaplace)
    assert isinstance(best_noise(l1, square, Cost(price, Fraction(9, 10)), None), DiscreteLaplace)
    accountant = mdp.Ledger(1, "1e-6").charge(ZCDP)
    less = Cost(price, Fraction(9, 10), tie * Fraction(99, 100))
    assert isinstance(best_noise(l1, square, less, accountant), DiscreteGaussian)


@cases("make", lambda: DiscreteLaplace(3, Fraction(1, 2)), lambda: DiscreteGaussian(9, ZCDP))
def test_opendp_is_asked_to_confirm_and_its_refusal_counts(make):
    made = make()
    claim = made.cost.epsilon if isinstance(made, DiscreteLaplace) else made.cost.rho
    made._confirm(3, claim)
    refuses("does not confirm", lambda: made._confirm(3, claim * Fraction(999_999, 1_000_000)))
    refuses("does not confirm", made._confirm, 4, claim)


@pytest.mark.parametrize("version", noise._BIASED)
def test_a_sampler_of_a_wrong_distribution_is_not_used(monkeypatch, version):
    monkeypatch.setattr(noise, "opendp_version", lambda: version)
    for make in (lambda: DiscreteLaplace(3, Fraction(1, 2)), lambda: DiscreteGaussian(9, ZCDP)):
        refuses("wrong distribution", make)


def test_noise_whose_scale_opendp_does_not_confirm_is_not_made(monkeypatch):
    for name, scale, make in (
        ("laplace_scale", 5.9, lambda: DiscreteLaplace(3, Fraction(1, 2))),
        ("gaussian_scale", 1.0, lambda: DiscreteGaussian(9, ZCDP)),
    ):
        make()
        with monkeypatch.context() as patch:
            patch.setattr(noise, name, lambda *_, scale=scale: scale)
            refuses("does not confirm", make)


def test_answers_beyond_their_range_get_no_noise():
    draw = DiscreteLaplace(1, Fraction(50))  # other than 0 with a probability below 4e-22
    for most in ([CAP, -CAP], [-CAP, CAP], []):
        assert draw(np.array(most, np.int64)).tolist() == most
    wrong = [[CAP + 1, 0], [0, CAP + 1], [-CAP - 1, 0], [0, -CAP - 1], [CAP + 1, -CAP - 1]]
    for values in (*(np.array(one) for one in wrong), np.zeros(2, np.int32), np.zeros(2)):
        refuses("beyond its stated range", draw, values, error=AssertionError)


# The version of OpenDP is one whose samplers were tried; those known to be biased are refused
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("version", noise._BIASED)
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_a_biased_sampler_is_refused_before_the_vault_opens(monkeypatch, version, delta):
    metric = mdp.PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]])
    demand, ledger = mdp.PrivateDemand(metric, [0]), mdp.Ledger(1, delta)
    budget = ledger.charge(1, delta)
    monkeypatch.setattr(noise, "opendp_version", lambda: version)
    with pytest.raises(InputError, match=rf"OpenDP {version} draws noise of a wrong distribution"):
        mdp.privacy.measure(demand, mdp.privacy.CountQuery(), 1, budget, delta)
    assert budget.spent == 0


def test_the_range_is_pinned_and_leaves_the_biased_ones_out():
    setup = (ROOT / "setup.cfg").read_text("utf-8")
    low, high = re.search(r"^    opendp>=(\S+),<(\S+)$", setup, flags=re.MULTILINE).groups()
    assert (low, high) == ("0.14.2", "0.17")
    assert all(version < low for version in noise._BIASED)


ALARM = 1e-8
DELTA = Fraction(1, 10**6)


def levels(universe, n_levels: int) -> LevelsQuery:
    return LevelsQuery([HistogramQuery(finest(universe))] * n_levels)


def gaussian_p_value(draws: np.ndarray, scale: float) -> float:
    reach = int(12 * scale) + 12
    distribution = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2))
    distribution /= distribution.sum()
    bins = np.minimum((np.cumsum(distribution) * 40).astype(int), 39)
    assert np.abs(draws).max() <= reach
    expected = np.bincount(bins, distribution, 40) * len(draws)
    observed = np.bincount(bins[draws + reach], minlength=40)
    keep = expected > 0
    return float(chi2.sf(((observed - expected)[keep] ** 2 / expected[keep]).sum(), keep.sum() - 1))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(5)], ids=str)
def test_the_distribution_is_that_on_the_receipt(epsilon):
    universe = line(2000)
    demand = PrivateDemand(universe, [])
    ledger = Ledger(5, DELTA)
    release = measure(demand, levels(universe, 20), epsilon, ledger.charge(5, DELTA), DELTA)
    (mechanism,) = release.receipt.mechanisms
    assert mechanism.name == "discrete Gaussian"
    assert gaussian_p_value(release.values, mechanism.scale) > ALARM
    for wrong in (0.7, 1.3):
        assert gaussian_p_value(release.values, wrong * mechanism.scale) < ALARM
    assert (release.receipt.epsilon, release.receipt.delta) == (epsilon, DELTA)
    assert mechanism.rho == Cost.zcdp(epsilon, DELTA).rho


def renyi(shift: int, scale: float, order: float) -> float:
    grid = np.arange(-400, 401)
    log_p, log_q = -(grid**2) / (2 * scale**2), -((grid - shift) ** 2) / (2 * scale**2)
    log_p, log_q = log_p - logsumexp(log_p), log_q - logsumexp(log_q)
    return float(logsumexp(order * log_p + (1 - order) * log_q)) / (order - 1)


@pytest.mark.parametrize("shift", [1, 2, 5])
def test_rho_holds_exactly_for_the_discrete_distribution(shift):
    rho = Fraction(1, 7)
    scale = gaussian_scale(shift**2, rho)
    for order in (1.1, 1.5, 2, 4, 16):
        assert renyi(shift, scale, order) <= order * float(rho) * (1 + 1e-9)
    assert renyi(shift, 0.9 * scale, 2) > 2 * float(rho)


@tries(200, st.integers(1, 10**6), st.fractions(min_value=Fraction(1, 10**6), max_value=100))
def test_the_scale_is_rounded_up(square, rho):
    scale = gaussian_scale(square, rho)
    assert Fraction(scale) ** 2 * 2 * rho >= square
    assert Fraction(scale * (1 - 1e-12)) ** 2 * 2 * rho < square


def test_it_wins_from_some_number_of_levels_on():
    universe, distributions = line(3), []
    for n_levels in range(1, 30):
        query = levels(universe, n_levels)
        ledger = Ledger(1, DELTA)
        demand = PrivateDemand(universe, [0])
        release = measure(demand, query, 1, budget := ledger.charge(1, DELTA), DELTA)
        (mechanism,) = release.receipt.mechanisms
        distributions.append(mechanism.name)
        laplace, gaussian = 2 * n_levels**2, n_levels / (2 * Cost.zcdp(1, DELTA).rho)
        found = mechanism.name
        assert found == ("discrete Laplace" if laplace <= gaussian else "discrete Gaussian")
        assert budget.spent_delta == (0 if mechanism.name == "discrete Laplace" else DELTA)
    assert distributions == sorted(distributions, reverse=True)
    assert set(distributions) == {"discrete Laplace", "discrete Gaussian"}


def test_in_a_zcdp_accountant_it_always_wins_and_costs_rho():
    accountant = Ledger(1, DELTA).charge(Cost.zcdp(1, DELTA))
    demand = PrivateDemand(TWO, ["a"])
    release = measure(demand, HistogramQuery(finest(TWO)), Fraction(1, 2), accountant, DELTA)
    assert release.receipt.mechanisms[0].name == "discrete Gaussian"
    assert accountant.spent_rho == Cost.zcdp(Fraction(1, 2), DELTA).rho
    query = HistogramQuery(finest(TWO))
    laplace = measure(PrivateDemand(TWO, ["a"]), query, Fraction(1, 10), accountant)
    assert laplace.receipt.mechanisms[0].name == "discrete Laplace"
    assert accountant.spent_rho == Cost.zcdp(Fraction(1, 2), DELTA).rho + Cost.of("1/10").rho
    with pytest.raises(BudgetError, match="rho"):
        measure(PrivateDemand(TWO, ["a"]), CountQuery(), 1, accountant)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
def test_squared_sensitivities_over_all_neighbors(neighboring, m):
    queries = [
        HistogramQuery(finest(THREE)),
        HistogramQuery(Labels(THREE, (1, 0, 1), 2)),
        CountQuery(),
        LevelsQuery([HistogramQuery(finest(THREE)), HistogramQuery(Labels(THREE, (1, 0, 1), 2))]),
    ]
    demands = all_demands(3, 2, m)
    for query in queries:
        answers = {d: query.exact(np.array([r for u in d for r in u], np.int64)) for d in demands}
        pairs = [(a, b) for a in demands for b in demands if neighbors(a, b, neighboring)]
        moves = [answers[a] - answers[b] for a, b in pairs]
        found = max(int((move**2).sum()) for move in moves)
        assert found == query.squared_sensitivity(neighboring, m)
        assert max(int(np.abs(move).sum()) for move in moves) == query.sensitivity(neighboring, m)


def test_levels_of_another_universe_are_refused():
    demand, budget = PrivateDemand(TWO, []), Ledger(1).charge(1)
    refuses("different universes", measure, demand, levels(THREE, 2), 1, budget)


def test_pure_budgets_buy_laplace():
    assert isinstance(best_noise(5, 1, Cost.of(1), None), DiscreteLaplace)
    assert isinstance(best_noise(50, 50, Cost.zcdp(1, DELTA), None), DiscreteGaussian)
