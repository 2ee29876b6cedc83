"""Which noise is drawn at the border between the distributions, and what is not drawn."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.privacy import noise
from metricdp.privacy.noise import DiscreteGaussian, DiscreteLaplace, best_noise
from tests import refuses

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


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_opendp_is_asked_to_confirm_and_its_refusal_counts(monkeypatch, kind):
    laplace = kind is DiscreteLaplace
    noise = (
        DiscreteLaplace(3, Fraction(1, 2)) if laplace else DiscreteGaussian(9, Cost.zcdp(1, "1e-6"))
    )
    claim = noise.cost.epsilon if kind is DiscreteLaplace else noise.cost.rho
    noise._confirm(3, claim)
    refuses("does not confirm", lambda: noise._confirm(3, claim * Fraction(999_999, 1_000_000)))
    refuses("does not confirm", noise._confirm, 4, claim)


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
