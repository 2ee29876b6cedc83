"""Edges of budget slices and zCDP accountants: what a piece costs, whom a budget is held to, what a
zCDP accountant needs."""

from fractions import Fraction

import pytest

import metricdp as mdp
from metricdp.accounting import BudgetSlice, Cost, ZCDPAccountant
from metricdp.accounting.binding import Protection
from metricdp.errors import BudgetError, InputError
from tests import refuses

RECORDS = Protection("record", 1)
USERS = Protection("user", 3)


def test_a_zcdp_accountant_without_rho_is_refused():
    with pytest.raises(InputError, match="a zCDP accountant needs a budget of rho"):
        ZCDPAccountant(Cost(Fraction(1), Fraction(1, 10)), "add-remove")


def test_a_rho_alone_is_a_budget_and_nothing_is_not():
    """A zCDP accountant of epsilon 0 may be charged, as its delta pays for rho; without rho it is
    nothing."""
    some = Cost(Fraction(0), Fraction(1, 10), Fraction(1, 10**6), "zCDP")
    assert Cost.of(some, 0, Fraction(0)) == some
    refuses("epsilon must be between", lambda: Cost.of(0, 0, Fraction(0)))
    with pytest.raises(InputError, match="epsilon must be between"):
        Cost.of(Cost(Fraction(0), Fraction(1, 10), Fraction(0), "zCDP"), 0, Fraction(0))


def test_a_piece_whose_rho_is_unknown_is_drawn_and_takes_its_epsilon():
    budget = mdp.Ledger(1, "1/10").charge("1/2", "1/20")
    assert isinstance(budget, BudgetSlice)
    budget.draw(Cost(Fraction(1, 4), Fraction(1, 40)))  # no rho
    assert (budget.spent, budget.spent_delta) == (Fraction(1, 4), Fraction(1, 40))


@pytest.mark.parametrize("sign", [(-1, 0), (0, -1)])
def test_a_negative_piece_is_refused(sign):
    budget = mdp.Ledger(1, "1/10").charge("1/2", "1/20")
    epsilon, delta = (Fraction(s, 100) for s in sign)
    refuses("", lambda: budget.draw(Cost(epsilon, delta)))
    assert (budget.spent, budget.spent_delta) == (0, 0)


def test_a_bound_budget_is_held_to_whom_it_protects():
    ledger = mdp.Ledger(1)
    budget = ledger.charge("1/2")
    budget.bind(RECORDS)
    for held in (budget, ledger):
        refuses("", held.bind, USERS)
        refuses("", held.check, USERS)
        held.bind(RECORDS)
        held.check(RECORDS)


def test_a_binding_is_written_to_the_journal(tmp_path):
    """A ledger opened again is held to the same unit, though nothing was charged after binding."""
    path = tmp_path / "ledger.jsonl"
    mdp.Ledger(1, journal=path).charge("1/2").bind(RECORDS)
    again = mdp.Ledger(1, journal=path)
    refuses("", again.check, USERS)
    again.check(RECORDS)


def test_an_exact_answer_takes_nothing_from_a_zcdp_accountant():
    accountant = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))
    assert isinstance(accountant, ZCDPAccountant)
    accountant.draw(0)
    assert accountant.spent_rho == 0 and accountant.spent_delta == 0
    accountant.draw(Cost.selection("1/10"))
    assert accountant.spent_rho == Cost.selection("1/10").rho


def test_a_piece_of_a_budget_slice_is_held_to_whom_it_was_charged_for():
    budget = mdp.Ledger(1).charge("1/2")
    assert budget.charge("1/8").protects is None and budget.protects is None
    assert budget.charge("1/8", protects=RECORDS).protects == RECORDS == budget.protects
    assert budget.charge("1/8").protects == RECORDS == budget.protects
    refuses("needs a ledger of its own", budget.charge, "1/8", protects=USERS)
    assert budget.spent == Fraction(3, 8)


def test_a_budget_slice_whose_ledger_is_over_is_refused_before_it_is_drawn_from(monkeypatch):
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2030-01-01")
    budget = mdp.Ledger(1, expires="2030-01-01").charge("1/2")
    budget.check(RECORDS)
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2030-01-02")
    for ask in (
        lambda: budget.check(RECORDS),
        lambda: budget.draw(0),
        lambda: budget.charge("1/8"),
    ):
        refuses("expired", ask)


def test_a_zcdp_accountant_pays_rho_to_the_last_and_no_further():
    accountant = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))

    def piece(rho):
        return Cost(Fraction(0), Fraction(0), rho)

    refuses("counts rho", lambda: accountant.draw(Cost(Fraction(1, 100), Fraction(1, 10**9))))
    accountant.draw(piece(accountant.rho / 4))
    for more in (accountant.rho, accountant.rho * Fraction(3, 4) + Fraction(1, 10**30)):
        refuses("rho", accountant.draw, piece(more), error=BudgetError)
    assert accountant.spent_rho == accountant.rho / 4
    accountant.draw(piece(accountant.rho * Fraction(3, 4)))
    assert accountant.spent_rho == accountant.rho
    refuses("", lambda: accountant.draw(piece(Fraction(1, 10**30))), error=BudgetError)


def test_another_process_is_refused(monkeypatch):
    ledger = mdp.Ledger(1)
    budget = ledger.charge("1/2")
    monkeypatch.setattr("metricdp.accounting.budget.os.getpid", lambda: -1)
    for ask in (lambda: ledger.charge("1/4"), lambda: budget.draw(0), lambda: budget.bind(RECORDS)):
        refuses("forked process", ask)


def test_a_delta_that_is_spent_is_what_is_refused():
    ledger = mdp.Ledger(1, "1/10")
    refuses("delta", ledger.charge, 1, "1/5", error=BudgetError)
    assert (ledger.spent, ledger.spent_delta) == (0, 0)
