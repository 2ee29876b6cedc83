"""Budgets and slices of them: exact, charged before anything is read, thread-safe, never copied,
and held to whom they protect.
"""

import copy
import math
import os
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.accounting import BudgetSlice, Cost, ZCDPAccountant
from metricdp.accounting.binding import Protection
from metricdp.accounting.cost import zcdp_epsilon
from metricdp.errors import BudgetError, InputError, JournalError
from metricdp.privacy import Ledger, exact
from tests import cases, granted_to_threads, refuses, tries

epsilons = st.one_of(
    st.fractions(min_value=Fraction(1, 10**6), max_value=2, max_denominator=10**6),
    st.floats(min_value=1e-6, max_value=2),
    st.decimals(min_value=Decimal("0.001"), max_value=2, places=4),
    st.integers(1, 2),
)


def test_numbers_are_read_as_meant():
    assert exact(0.1) == exact("0.1") == exact("1/10") == exact(Decimal("0.1")) == Fraction(1, 10)
    assert exact(1 / 3) == Fraction(1, 3)
    assert exact(0.5 / 11) == Fraction(1, 22)
    assert exact(np.float64(0.25)) == exact(np.float32(0.25)) == Fraction(1, 4)
    assert exact(np.int64(3)) == exact(3.0) == exact(" 3 ") == 3
    assert exact(1e-9) == Fraction(1, 10**9)
    assert exact(math.pi) == Fraction("3.141592653589793")


@pytest.mark.parametrize("kind", [str, Decimal])
def test_numbers_of_more_than_400_digits_are_none(kind):
    for most in ("1e399", "-1e399", "1e-399", "9e399"):
        assert exact(kind(most)) == Fraction(most)
    for beyond in ("1e400", "-1e400", "1e-400", "1e401", "inf", "nan"):
        refuses("", exact, kind(beyond))
    assert exact(Fraction(10**400)) == 10**400 == 1 / exact(Fraction(1, 10**400))
    for beyond in (10**400 + 1, -(10**400) - 1, Fraction(1, 10**400 + 1)):
        refuses("", exact, beyond)


def test_a_float_is_the_fraction_of_at_most_a_million_that_is_one_unit_away_at_most():
    assert exact(1 / 999_983) == Fraction(1, 999_983)
    assert exact(1 / 1_000_003) == Fraction(repr(1 / 1_000_003)) != Fraction(1, 1_000_003)
    assert exact(math.nextafter(0.5, 1)) == Fraction(1, 2)
    assert exact(math.nextafter(math.nextafter(0.5, 1), 1)) > Fraction(1, 2)
    assert exact(5e-324) == Fraction("5e-324")


def test_integers_stay_exact_and_objects_that_only_convert_to_numbers_are_refused():
    for whole in (2**60 + 1, np.int64(2**60 + 1), -(2**53) - 1):
        assert exact(whole) == Fraction(int(whole))
    for none in (True, False, np.True_, np.array(0.5), np.array([1]), 1j, b"1", [1], None):
        refuses("", exact, none)


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_a_float_is_read_within_one_unit_in_its_last_place(x):
    assert abs(exact(x) - Fraction(x)) <= Fraction(math.ulp(x))


@given(st.fractions(max_denominator=10**6, min_value=0, max_value=1000))
def test_a_simple_fraction_survives_being_a_float(f):
    assert exact(float(f)) == f == exact(str(f))


BAD = [float("nan"), float("inf"), -float("inf"), True, np.True_, None, [], 1j]
BAD += ["", "x", "1/0", "nan", "1e999999999"]
BAD += [b"1", Decimal("NaN"), Decimal("Infinity"), Decimal("1e-999999999"), object]


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_what_is_no_number_is_refused(value):
    refuses("epsilon must be a finite number, a Fraction or a string such as '1/10'", exact, value)
    for make in (Ledger, Ledger(1).charge, Ledger(1).quote):
        refuses("", make, value)
    refuses("delta", Ledger, 1, delta=value)


@cases("value", 0, -1, 0.0, -0.1, 1e-12, 1001, 1e9, 10**400, Fraction(-1, 3), ids=repr)
def test_absurd_budgets_are_refused(value):
    ledger = Ledger(1)
    for make in (Ledger, ledger.charge, ledger.quote):
        refuses("epsilon must be between 1e-09 and 1000", make, value)
    assert ledger.spent == 0


@cases(
    ("given", "words"),
    *(({"delta": delta}, "delta must be at least 0 and below 1") for delta in (-1e-9, 1, 1.5)),
    ({"neighboring": "swap"}, "'add-remove' or 'replace-one', got 'swap'"),
)
def test_delta_and_relation_have_their_range(given, words):
    refuses(words, Ledger, 1, **given)


def test_eleven_elevenths_fit():
    ledger = Ledger(0.5)
    for _ in range(11):
        ledger.charge(0.5 / 11)
    assert (ledger.spent, ledger.left) == (Fraction(1, 2), 0)
    refuses(r"asked epsilon 1e-09, spent 0.5, left 0", ledger.charge, 1e-9, error=BudgetError)


def test_refusal_says_asked_spent_left_and_charges_nothing():
    ledger = Ledger("1", delta=1e-6)
    ledger.charge("0.75", purpose="first")
    refused = refuses("", ledger.charge, 0.5, error=BudgetError)
    expected = (Fraction(1, 2), Fraction(3, 4), Fraction(1, 4))
    assert (refused.asked, refused.spent, refused.left) == expected
    assert str(refused) == "privacy budget refused: asked epsilon 0.5, spent 0.75, left 0.25"
    close = refuses("", ledger.charge, "0.25000001", error=BudgetError)
    assert str(close).endswith("asked epsilon 0.25, spent 0.75, left 0.25, exactly 1/4")
    words = "asked delta 1e-05, spent 0, left 1e-06"
    refuses(words, ledger.charge, 0.1, error=BudgetError, delta=1e-5)
    assert ledger.spent == Fraction(3, 4)
    found = [(e.epsilon, e.delta, e.purpose) for e in ledger.entries]
    assert found == [(Fraction(3, 4), 0, "first")]
    quarter, whole = Fraction(1, 4), Fraction(1, 10**6)
    assert ledger.quote(0.25) == (True, quarter, whole, quarter, 0, "basic composition")
    assert not ledger.quote(0.26).fits and not ledger.quote(0.1, delta=0.1).fits
    assert ledger.spent == Fraction(3, 4)


@tries(60, epsilons, st.lists(epsilons, max_size=30))
def test_spent_is_the_exact_sum_of_what_was_granted(budget, asked):
    ledger, granted = Ledger(budget), Fraction(0)
    for epsilon in asked:
        fits = granted + exact(epsilon) <= exact(budget)
        assert ledger.quote(epsilon).fits == fits
        if fits:
            assert ledger.charge(epsilon).epsilon == exact(epsilon)
            granted += exact(epsilon)
        else:
            refuses("", ledger.charge, epsilon, error=BudgetError)
        assert ledger.spent == granted <= ledger.epsilon
        assert ledger.left == ledger.epsilon - granted
    assert sum(e.epsilon for e in ledger.entries) == granted


def test_a_budget_slice_is_spent_in_exact_pieces():
    ledger = Ledger(1, delta="1e-6", neighboring="replace-one")
    budget = ledger.charge(0.3, delta="1e-6", purpose="k_median")
    assert (budget.epsilon, budget.neighboring) == (Fraction(3, 10), "replace-one")
    budget.draw(budget.epsilon / 20)
    budget.draw(budget.epsilon * Fraction(19, 20), delta=1e-6)
    assert (budget.left, budget.left_delta) == (0, 0)
    for piece in ((Fraction(1, 10**12), 0), (0, Fraction(1, 10**12))):
        refuses("", budget.draw, *piece, error=BudgetError)
    refuses("negative", budget.draw, -1)
    assert budget.spent == Fraction(3, 10)
    assert ledger.spent == Fraction(3, 10)


def test_eight_threads_overdraw_no_ledger_and_no_slice_of_it():
    ledger = Ledger(1)
    granted = granted_to_threads(lambda _: ledger.charge(Fraction(1, 300)), 400)
    assert granted == len(ledger.entries) == 300 and ledger.spent == 1
    budget = Ledger(1).charge(1)
    assert granted_to_threads(lambda _: budget.draw(Fraction(1, 30)), 200) == 30


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps])
def test_budgets_are_not_copied(clone):
    ledger = Ledger(1)
    for budget in (ledger, ledger.charge(0.5)):
        words = "cannot be copied or pickled: a copy would spend the same budget twice"
        refuses(words, clone, budget, error=TypeError)


@pytest.mark.parametrize("name", ["epsilon", "delta", "spent", "left", "neighboring"])
def test_budgets_are_not_assigned(name):
    ledger = Ledger(1)
    for budget in (ledger, ledger.charge(0.5)):
        refuses("", setattr, budget, name, 5, error=AttributeError)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_cannot_spend_the_same_budget():
    ledger = Ledger(1)
    budget = ledger.charge(0.5)
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        refused = 0
        for spend in (lambda: ledger.charge(0.1), lambda: budget.draw(0.1)):
            try:
                spend()
            except InputError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    budget.draw(0.1)


def test_repr_shows_spent_and_left():
    ledger = Ledger(1, delta=1e-6, neighboring="replace-one")
    ledger.charge(0.25)
    found = repr(ledger)
    assert found == "Ledger(spent 0.25 of 1, left 0.75; delta: spent 0 of 1e-06; replace-one)"
    assert repr(Ledger(0.5).charge(0.1)) == "BudgetSlice(spent 0 of 0.1, left 0.1; add-remove)"


def test_the_state_tells_what_the_last_charge_was_for():
    ledger = Ledger(1, purpose="clinics", who="planning")
    expected = "", "", 0
    assert (ledger.state()["purpose"], ledger.state()["who"], ledger.state()["charges"]) == expected
    ledger.charge("1/4")
    state = ledger.state()
    assert (state["purpose"], state["who"]) == ("clinics", "planning")
    assert (state["charges"], state["spent"], state["left"]) == (1, "1/4", "3/4")


def test_what_is_no_ledger_is_not_opened(tmp_path):
    (tmp_path / "text").write_text("hello\n")
    for name in ("text", "none", "."):
        refuses("", Ledger.open, tmp_path / name, error=JournalError)
    refuses("is not the journal of a ledger", Ledger.open, tmp_path / "none", error=JournalError)


def test_what_was_charged_once_is_not_read_for_others():
    ledger, record = Ledger(1), Protection("record", 1)
    assert ledger.charge_once("visits", "1/4", "stream", record) == Fraction(1, 4)
    for other in (Protection("user", 1), Protection("user", 3)):
        refuses("needs a ledger of its own", ledger.charge_once, "visits", "1/4", "stream", other)
    assert ledger.charge_once("visits", "1/4", "stream", record) == 0


def test_no_question_is_answered_after_the_last_day(monkeypatch):
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2030-01-01")
    ledger = Ledger(1, expires="2030-01-01")

    def ask(budget):
        return Protection("user", 3), "three"

    assert ledger.answer_once("how many?", "1/4", "bound", ask) == "three"
    fresh = Ledger(1, expires="2030-01-01")
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2030-01-02")
    assert ledger.answer_once("how many?", "1/4", "bound", ask) == "three"  # told already
    refuses("expired", fresh.answer_once, "how many?", "1/4", "bound", ask)
    assert not fresh.entries


def test_a_ledger_does_not_begin_after_its_last_day_but_is_read(tmp_path):
    (tmp_path / "empty.ledger").touch()
    for journal in (None, tmp_path / "new.ledger", tmp_path / "empty.ledger"):
        refuses("expires is in the past", Ledger, 1, expires="2020-01-01", journal=journal)
    assert [path.name for path in tmp_path.iterdir()] == ["empty.ledger"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metricdp.accounting.ledger.today", lambda: "2020-01-01")
        Ledger(1, expires="2020-01-01", journal=tmp_path / "old.ledger").charge("1/4")
    again = Ledger(1, expires="2020-01-01", journal=tmp_path / "old.ledger")
    assert again.spent == Fraction(1, 4)
    refuses("expired", again.charge, "1/4")


def test_a_zcdp_accountant_tells_what_its_rho_is_worth():
    delta = Fraction(1, 10**6)
    accountant = Ledger(1, delta).charge(Cost.zcdp(1, delta))
    assert accountant.spent == accountant.spent_delta == 0
    half = Cost(Fraction(0), rho=accountant.rho / 2)
    accountant.draw(half)
    assert accountant.spent == zcdp_epsilon(half.rho, delta) < 1
    accountant.draw(half)
    assert accountant.spent == 1 and accountant.spent_delta == delta


RECORDS = Protection("record", 1)
USERS = Protection("user", 3)


def test_a_rho_alone_is_a_budget_and_nothing_is_not():
    """A zCDP accountant of epsilon 0 may be charged, as its delta pays for rho; without rho it is
    nothing."""
    some, none = (
        Cost(Fraction(0), Fraction(1, 10), rho, "zCDP") for rho in (Fraction(1, 10**6), Fraction(0))
    )
    assert Cost.of(some, 0, Fraction(0)) == some
    for nothing in (0, none):
        refuses("epsilon must be between", Cost.of, nothing, 0, Fraction(0))
    unknown = Cost(Fraction(1), Fraction(1, 10))
    refuses("a zCDP accountant needs a budget of rho", ZCDPAccountant, unknown, "add-remove")


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


def test_a_bound_budget_is_held_to_whom_it_protects(tmp_path):
    """And a ledger opened again, though nothing was charged after binding."""
    path = tmp_path / "ledger.jsonl"
    ledger = mdp.Ledger(1, journal=path)
    budget = ledger.charge("1/2")
    budget.bind(RECORDS)
    for held in (mdp.Ledger(1, journal=path), budget, ledger):
        refuses("", held.bind, USERS)
        refuses("", held.check, USERS)
        held.bind(RECORDS)
        held.check(RECORDS)


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
