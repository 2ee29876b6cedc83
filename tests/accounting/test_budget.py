"""Edges of grants and pools: what a piece costs, whom a budget is held to, what a pool needs."""

from fractions import Fraction

import pytest

import metricdp as mdp
from metricdp.accounting import Cost, Grant, Pool
from metricdp.accounting.binding import Protection
from metricdp.errors import BudgetError, InputError

RECORDS = Protection("record", 1)
USERS = Protection("user", 3)


def test_a_pool_without_rho_is_refused():
    with pytest.raises(InputError, match="a pool needs a budget of rho"):
        Pool(Cost(Fraction(1), Fraction(1, 10)), "add-remove")


def test_a_rho_alone_is_a_budget_and_nothing_is_not():
    """A pool of epsilon 0 may be charged, as its delta pays for rho; without rho it is nothing."""
    some = Cost(Fraction(0), Fraction(1, 10), Fraction(1, 10**6), "zCDP")
    assert Cost.of(some, 0, Fraction(0)) == some
    with pytest.raises(InputError, match="epsilon must be between"):
        Cost.of(0, 0, Fraction(0))
    with pytest.raises(InputError, match="epsilon must be between"):
        Cost.of(Cost(Fraction(0), Fraction(1, 10), Fraction(0), "zCDP"), 0, Fraction(0))


def test_a_piece_whose_rho_is_unknown_is_drawn_and_takes_its_epsilon():
    grant = mdp.Ledger(1, "1/10").charge("1/2", "1/20")
    assert isinstance(grant, Grant)
    grant.draw(Cost(Fraction(1, 4), Fraction(1, 40)))  # no rho
    assert (grant.spent, grant.spent_delta) == (Fraction(1, 4), Fraction(1, 40))


@pytest.mark.parametrize("sign", [(-1, 0), (0, -1)])
def test_a_negative_piece_is_refused(sign):
    grant = mdp.Ledger(1, "1/10").charge("1/2", "1/20")
    epsilon, delta = (Fraction(s, 100) for s in sign)
    with pytest.raises(InputError):
        grant.draw(Cost(epsilon, delta))
    assert (grant.spent, grant.spent_delta) == (0, 0)


def test_a_bound_budget_is_held_to_whom_it_protects():
    ledger = mdp.Ledger(1)
    grant = ledger.charge("1/2")
    grant.bind(RECORDS)
    for held in (grant, ledger):
        with pytest.raises(InputError):
            held.bind(USERS)
        with pytest.raises(InputError):
            held.check(USERS)
        held.bind(RECORDS)
        held.check(RECORDS)


def test_a_binding_is_written_to_the_journal(tmp_path):
    """A ledger opened again is held to the same unit, though nothing was charged after binding."""
    path = tmp_path / "ledger.jsonl"
    ledger = mdp.Ledger(1, journal=path)
    ledger.charge("1/2").bind(RECORDS)
    again = mdp.Ledger(1, journal=path)
    with pytest.raises(InputError):
        again.check(USERS)
    again.check(RECORDS)


def test_an_exact_answer_takes_nothing_from_a_pool():
    pool = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))
    assert isinstance(pool, Pool)
    pool.draw(0)
    assert pool.spent_rho == 0 and pool.spent_delta == 0
    pool.draw(Cost.selection("1/10"))
    assert pool.spent_rho == Cost.selection("1/10").rho


def test_a_piece_of_a_grant_is_held_to_whom_it_was_charged_for():
    grant = mdp.Ledger(1).charge("1/2")
    assert grant.charge("1/8").protects is None and grant.protects is None
    assert grant.charge("1/8", protects=RECORDS).protects == RECORDS == grant.protects
    assert grant.charge("1/8").protects == RECORDS == grant.protects
    with pytest.raises(InputError, match="needs a ledger of its own"):
        grant.charge("1/8", protects=USERS)
    assert grant.spent == Fraction(3, 8)


def test_a_grant_whose_ledger_is_over_is_refused_before_it_is_drawn_from(monkeypatch):
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2030-01-01")
    grant = mdp.Ledger(1, expires="2030-01-01").charge("1/2")
    grant.check(RECORDS)
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2030-01-02")
    for ask in (lambda: grant.check(RECORDS), lambda: grant.draw(0), lambda: grant.charge("1/8")):
        with pytest.raises(InputError, match="expired"):
            ask()


def test_a_pool_pays_rho_to_the_last_and_no_further():
    pool = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))

    def piece(rho):
        return Cost(Fraction(0), Fraction(0), rho)

    with pytest.raises(InputError, match="counts rho"):
        pool.draw(Cost(Fraction(1, 100), Fraction(1, 10**9)))
    pool.draw(piece(pool.rho / 4))
    for more in (pool.rho, pool.rho * Fraction(3, 4) + Fraction(1, 10**30)):
        with pytest.raises(BudgetError, match="rho"):
            pool.draw(piece(more))
    assert pool.spent_rho == pool.rho / 4
    pool.draw(piece(pool.rho * Fraction(3, 4)))
    assert pool.spent_rho == pool.rho
    with pytest.raises(BudgetError):
        pool.draw(piece(Fraction(1, 10**30)))


def test_another_process_is_refused(monkeypatch):
    ledger = mdp.Ledger(1)
    grant = ledger.charge("1/2")
    monkeypatch.setattr("metricdp.accounting.budget.os.getpid", lambda: -1)
    for ask in (lambda: ledger.charge("1/4"), lambda: grant.draw(0), lambda: grant.bind(RECORDS)):
        with pytest.raises(InputError, match="forked process"):
            ask()
