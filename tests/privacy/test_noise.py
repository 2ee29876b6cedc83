"""Which noise is drawn at the border between the laws, and what is not drawn."""

from __future__ import annotations

from fractions import Fraction

import pytest

from metricdp.accounting import Cost
from metricdp.errors import InputError
from metricdp.privacy.noise import DiscreteGaussian, DiscreteLaplace, best_noise


def test_a_tie_of_variances_spends_no_delta():
    """2 L1² / epsilon² = L2² / (2 rho): Laplace, which is as good and pure."""
    tie = Cost(Fraction(1), Fraction(9, 10), Fraction(1, 4))
    assert isinstance(best_noise(1, 1, tie, None), DiscreteLaplace)
    more = Cost(Fraction(1), Fraction(9, 10), Fraction(1, 4) + Fraction(1, 1000))
    assert isinstance(best_noise(1, 1, more, None), DiscreteGaussian)


def test_no_rho_is_no_gaussian():
    with pytest.raises(InputError, match="rho must be positive"):
        DiscreteGaussian(1, Cost(Fraction(1), Fraction(1, 10)))


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_opendp_is_asked_to_confirm_and_believed_when_it_does_not(monkeypatch, kind):
    noise = (
        DiscreteLaplace(3, Fraction(1, 2))
        if kind is DiscreteLaplace
        else DiscreteGaussian(9, Cost.zcdp(1, "1e-6"))
    )
    claim = noise.cost.epsilon if kind is DiscreteLaplace else noise.cost.rho
    noise._confirm(3, claim)
    with pytest.raises(InputError, match="does not confirm"):
        noise._confirm(3, claim * Fraction(999_999, 1_000_000))
    with pytest.raises(InputError, match="does not confirm"):
        noise._confirm(4, claim)
