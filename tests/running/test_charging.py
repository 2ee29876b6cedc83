"""One charge for all that a call may spend, after everything that can be refused."""

from fractions import Fraction

import pytest

import metricdp as mdp
from metricdp.accounting import Cost, Protection, ZCDPAccountant
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import gate
from metricdp.running.charging import Accountant
from tests import path_metric, refuses

BOX = mdp.EuclideanSpace([0, 0], [1, 1])
DEMAND = mdp.PrivateDemand(BOX, [[0.5, 0.5]] * 3)
METRIC = path_metric(2)
TOWNS = mdp.PrivateDemand(METRIC, [0, 1, 1])
PLANE = mdp.EuclideanMetric([[0.0, 0.0], [9.0, 0.0]], ids=["a", "b"])


def alone(terms):
    return Cost.of(terms.price.epsilon)


def test_every_price_is_checked_before_the_sum_is_charged():
    ledger, seen = mdp.Ledger(1, neighboring="replace-one"), []
    accountant = Accountant(BOX, DEMAND, ledger)
    budget = accountant.charge(
        alone,
        lambda terms: seen.append((terms.price, terms.neighboring, ledger.spent)),
        [("1/3", 0), ("1/2", 0)],
        "two",
    )
    assert seen == [(Cost.of("1/3"), "replace-one", 0), (Cost.of("1/2"), "replace-one", 0)]
    assert budget.epsilon == ledger.spent == Fraction(5, 6)
    with pytest.raises(mdp.BudgetError):
        accountant.charge(alone, lambda *_: None, [("1/12", 0), ("1/11", 0)], "two")
    assert ledger.spent == Fraction(5, 6)


def test_what_a_recipe_refuses_is_not_charged():
    def refuse(terms):
        raise mdp.InputError("too little")

    ledger = mdp.Ledger(1)
    refuses("too little", Accountant(BOX, DEMAND, ledger).charge, alone, refuse, [(1, 0)], "one")
    with pytest.raises(mdp.InputError, match="needs epsilon"):
        Accountant(BOX, DEMAND, ledger).charge(alone, refuse, [(1, 0), (None, 0)], "one")
    assert ledger.spent == 0


def test_without_a_ledger_one_of_its_own_has_the_size_of_the_call():
    accountant = Accountant(BOX, DEMAND, None)
    assert accountant.neighboring == "add-remove"
    assert accountant.charge(alone, lambda *_: None, [(1, "0.1"), (2, 0)], "two").epsilon == 3
    assert accountant.nothing().left == 0
    with pytest.raises(mdp.InputError, match="epsilon must be between"):
        accountant.charge(alone, lambda *_: pytest.fail("was asked"), [(0, 0)], "none")


def test_who_does_not_fit_is_refused_before_anything_is_charged():
    ledger = mdp.Ledger(2)
    for wrong, said in (
        ((BOX, 3, ledger), "write k=3"),
        ((BOX, [[0.5, 0.5]], ledger), "must be a PrivateDemand"),
        ((mdp.EuclideanSpace([0, 0], [1, 1]), DEMAND, ledger), "another universe"),
        ((BOX, DEMAND, 1.0), "ledger must be a Ledger"),
    ):
        refuses(said, Accountant, *wrong)
    (west, its), (_, other) = gate.split(TOWNS, LabelParts.of(METRIC), 1, ledger)
    for demand, accountant in ((west, ledger), (west, None), (west, other), (TOWNS, its)):
        with pytest.raises(mdp.InputError, match="paid from the budget slice that split returned"):
            Accountant(METRIC, demand, accountant)
    assert Accountant(METRIC, west, its).nothing().scope is west.part
    snapped = mdp.PrivateDemand.from_coordinates(PLANE, [[0, 1], [9, 99]], max_snap=5)
    assert Accountant(PLANE, snapped, None).neighboring == "add-remove"
    with pytest.raises(mdp.InputError, match="max_snap leaves records out"):
        Accountant(PLANE, snapped, mdp.Ledger(1, neighboring="replace-one"))
    assert ledger.spent == 1  # of the split alone


def test_a_ledger_of_others_is_asked_first():
    ledger = mdp.Ledger(1)
    ledger.charge("1/4", protects=Protection("user", 3))
    seen = []
    with pytest.raises(mdp.InputError, match="needs a ledger of its own"):
        Accountant(BOX, DEMAND, ledger).charge(lambda t: seen.append(t), print, [("1/4", 0)], "one")
    assert not seen and ledger.spent == Fraction(1, 4)


def test_what_is_charged_says_what_for_and_for_whom():
    ledger = mdp.Ledger(3, "1e-6")
    budget = Accountant(BOX, DEMAND, ledger).charge(alone, lambda *_: None, [("1/4", 0)], "clinics")
    assert ledger.entries[-1].purpose == "clinics"
    assert budget.parent is ledger and ledger.protects == DEMAND.protects == budget.protects

    def both(terms):
        return terms.price

    confirmed = []
    two = [("1/4", "1e-7"), ("1/2", "2e-7")]
    budget = Accountant(BOX, DEMAND, ledger).charge(both, confirmed.append, two, "two")
    assert (budget.epsilon, budget.delta) == (Fraction(3, 4), Fraction(3, 10**7))
    assert [terms.price.delta for terms in confirmed] == [Fraction(n, 10**7) for n in (1, 2)]
    own = Accountant(BOX, DEMAND, None).charge(both, confirmed.append, two, "two").parent
    expected = (budget.epsilon, budget.delta, 0, 0)
    assert (own.epsilon, own.delta, own.left, own.left_delta) == expected
    in_rho = Accountant(BOX, DEMAND, ledger).charge(
        lambda terms: Cost.zcdp("1/2", "1e-7"), confirmed.append, [("1/2", "1e-7")], "pool"
    )
    assert isinstance(in_rho, ZCDPAccountant)
