"""One charge for all that a call may spend, after everything that can be refused."""

from fractions import Fraction

import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.errors import BudgetError, InputError
from metricdp.running.charging import Payer

BOX = mdp.EuclideanSpace([0, 0], [1, 1])
DEMAND = mdp.PrivateDemand(BOX, [[0.5, 0.5]] * 3)


def alone(terms):
    return Cost.of(terms.price.epsilon)


def test_every_price_is_checked_before_the_sum_is_charged():
    ledger, seen = mdp.Ledger(1, neighboring="replace-one"), []
    payer = Payer(BOX, DEMAND, ledger)
    grant = payer.charge(
        alone,
        lambda terms: seen.append((terms.price, terms.neighboring, ledger.spent)),
        [("1/3", 0), ("1/2", 0)],
        "two",
    )
    assert seen == [
        (Cost.of("1/3"), "replace-one", 0),
        (Cost.of("1/2"), "replace-one", 0),
    ]
    assert grant.epsilon == ledger.spent == Fraction(5, 6)
    with pytest.raises(BudgetError):
        payer.charge(alone, lambda *_: None, [("1/12", 0), ("1/11", 0)], "two")
    assert ledger.spent == Fraction(5, 6)


def test_what_a_recipe_refuses_is_not_charged():
    def refuse(terms):
        raise InputError("too little")

    ledger = mdp.Ledger(1)
    with pytest.raises(InputError, match="too little"):
        Payer(BOX, DEMAND, ledger).charge(alone, refuse, [(1, 0)], "one")
    with pytest.raises(InputError, match="needs epsilon"):
        Payer(BOX, DEMAND, ledger).charge(alone, refuse, [(1, 0), (None, 0)], "one")
    assert ledger.spent == 0


def test_without_a_ledger_one_of_its_own_has_the_size_of_the_call():
    payer = Payer(BOX, DEMAND, None)
    assert payer.neighboring == "add-remove"
    assert payer.charge(alone, lambda *_: None, [(1, "0.1"), (2, 0)], "two").epsilon == 3
    assert payer.nothing().left == 0
    with pytest.raises(InputError, match="epsilon must be between"):
        payer.charge(alone, lambda *_: None, [(0, 0)], "none")
