"""What a budget of each period promises: a slice of it is void when its period ends, wherever it is
held, and days only go on.
"""

import sys
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import metricdp as mdp
from metricdp.accounting import Cost, Ledger, Protection, journal, ledger
from metricdp.accounting.binding import Policy
from metricdp.errors import BudgetError, InputError
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CostQuery, CountQuery, measure, select, split
from metricdp.running.history import History
from tests import path_metric, refuses

METRIC = path_metric(4)
RECORD = Protection("record", 1)
EDGES = [
    ("yearly", "2030-12-31", "2031-01-01"),
    ("yearly", "2028-02-29", "2029-02-28"),
    ("quarterly", "2030-03-31", "2030-04-01"),
    ("monthly", "2028-02-29", "2028-03-01"),
    ("monthly", "2027-02-28", "2027-03-01"),
    ("monthly", "2030-12-31", "2031-01-01"),
]


@pytest.fixture
def path(tmp_path):
    """Where a ledger is kept."""
    return tmp_path / "a.ledger"


def demand():
    return mdp.PrivateDemand(METRIC, [0, 1, 3, 3])


@pytest.fixture
def clock(monkeypatch):
    now = {"day": "2030-12-31"}
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: now["day"])
    return now


@pytest.mark.parametrize(("renews", "last", "first"), EDGES)
def test_a_budget_slice_is_void_when_its_period_ends_wherever_it_is_held(
    clock, renews, last, first
):
    clock["day"] = last
    account = Ledger(4, "1e-6", renews=renews)
    budget = account.charge(1)
    nested = account.charge(1).charge("1/2")
    accountant = account.charge(Cost.zcdp("1/2", "1e-6"))
    (part, share), _ = split(demand(), LabelParts(METRIC, np.array([0, 0, 1, 1]), 2), 1, account)
    measure(demand(), CountQuery(), "1/4", budget)
    calls = (
        lambda: measure(demand(), CountQuery(), "1/4", budget),
        lambda: measure(demand(), CountQuery(), "1/4", nested),
        lambda: select(demand(), CostQuery(METRIC), "1/100", accountant),
        lambda: measure(part, CountQuery(), "1/4", share),
        lambda: mdp.release(METRIC, demand(), epsilon="1/4", ledger=budget),
        lambda: budget.draw("1/4"),
        lambda: accountant.draw(Cost.selection("1/100")),
        lambda: budget.charge("1/4"),
    )
    clock["day"] = first
    for call in calls:
        refuses("which is over", call)
    assert budget.left == Fraction(3, 4) and account.left == 4
    clock["day"] = last  # a clock that goes back brings no period back
    refuses("which is over", budget.draw, "1/4")
    assert mdp.release(METRIC, demand(), epsilon=4, ledger=account).receipt.epsilon == 4
    assert account.left == 0


def test_what_was_bought_before_pays_for_nothing_after_the_last_day(clock):
    account = Ledger(2, expires="2030-12-31")
    budget, spare = account.charge(1), account.charge("1/2")
    budget.draw("1/2")
    clock["day"] = "2031-01-01"
    for one in (budget, spare):
        refuses("expired after 2030-12-31", measure, demand(), CountQuery(), "1/4", one)
    clock["day"] = "2030-12-31"  # seen, and never unseen
    for call in (lambda: budget.draw("1/4"), lambda: account.charge("1/4")):
        refuses("expired after 2030-12-31", call)


def test_other_processes_days_count_too(clock, path):
    clock["day"] = "2031-01-01"
    Ledger(1, journal=path, renews="yearly").bind(RECORD)
    clock["day"] = "2030-12-31"
    again = Ledger.open(path)
    budget = again.charge(1)
    assert again.entries[-1].day == "2031-01-01"
    clock["day"] = "2031-06-01"
    budget.draw(1)  # of 2031, not of 2030
    refuses("", again.charge, "1/2", error=BudgetError)


def test_a_question_that_raises_is_paid_and_not_asked_again_for_free():
    account = Ledger(1)
    asked = []

    def ask(budget):
        asked.append(measure(demand(), CountQuery(), "1/4", budget).values)
        raise ValueError

    for _ in range(4):
        refuses(r"^$", account.answer_once, "how many?", "1/4", "choice", ask, error=ValueError)
    refuses("", account.answer_once, "how many?", "1/4", "choice", ask, error=BudgetError)
    assert len(asked) == len(account.entries) == 4 and account.left == 0
    assert account.answer("how many?") is None and account.protects is None


def test_an_answer_is_kept_and_holds_the_ledger(clock):
    account = Ledger(1, renews="yearly")
    users = Protection("user", 3)
    asked = []

    def ask(budget):
        asked.append(budget)
        return users, "three"

    assert account.answer_once("how many?", "1/2", "choice", ask) == "three"
    assert account.protects == users
    refuses("protects each user", account.charge, "1/4", protects=RECORD)
    refuses("before anything else", account.answer_once, "another", "1/4", "choice", ask)
    clock["day"] = "2031-01-01"  # it was reported, and is reported again
    assert account.answer_once("how many?", "1/2", "choice", ask) == "three"
    assert len(asked) == 1 and account.left == 1
    refuses("which is over", lambda: asked[0].draw("1/2"))


def test_a_question_whose_answer_was_lost_is_paid_in_its_own_period(clock, path):
    account = Ledger(1, journal=path, renews="yearly")
    refuses("", account.answer_once, "q", 1, "choice", lambda _: 1 // 0, error=ZeroDivisionError)
    clock["day"] = "2031-01-01"
    again = Ledger.open(path)
    again.answer_once("q", 1, "choice", lambda _: (RECORD, "one"))
    assert again.left == 0 and again.ever_spent == 2


def test_two_who_ask_at_once_are_answered_once():
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    account, start, asked = Ledger(8), Barrier(8), []

    def ask(budget):
        asked.append(budget)
        return RECORD, str(len(asked))

    def one(_):
        start.wait()
        return account.answer_once("q", 1, "choice", ask)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(8))) == {"1"}
    assert len(asked) == 1 and account.left == 7


def test_what_reads_on_is_charged_in_each_period_once(clock, path):
    account = Ledger(1, journal=path, renews="yearly", expires="2032-12-31")
    for day in ("2030-12-30", "2030-12-31", "2031-01-01", "2030-12-31", "2031-02-01"):
        clock["day"] = day
        for one in (account, Ledger.open(path)):
            one.charge_once("visits", "3/4", "stream", RECORD)
    assert [c.day for c in account.entries] == ["2030-12-30", "2031-01-01"]
    assert History(path).to_dict()["ever_spent"] == "3/2"
    refuses("", account.charge_once, "others", "1/2", "stream", RECORD, error=BudgetError)
    clock["day"] = "2033-01-01"
    refuses("expired", account.charge_once, "visits", "3/4", "stream", RECORD)


def test_one_course_is_followed_across_processes(path):
    Ledger(1, journal=path).follow("visits", 0, "")
    for mark in ("a", "a"):
        Ledger.open(path).follow("visits", 1, mark)
    for step, mark in ((1, "b"), (0, ""), (3, "c")):
        with pytest.raises(InputError, match="day 1 was reported, of another copy"):
            Ledger.open(path).follow("visits", step, mark)
    Ledger.open(path).follow("others", 7, "b")
    Ledger.open(path).follow("visits", 2, "b")
    assert Ledger.open(path).spent == 0 and not Ledger.open(path).entries


def test_edges_of_the_calendar():
    assert Policy.of("quarterly").period("2028-12-31") == "2028-Q4"
    assert Policy.of("yearly", "2032-02-29").expires == "2032-02-29"
    assert Policy.of(None, datetime(2030, 12, 31, 23, 59, tzinfo=UTC)).expires == "2030-12-31"
    for no_day in ("2031-02-29", "2030-04-31", "0000-01-01", pd.NaT):
        refuses("expires must be a day", Policy.of, None, no_day)


class Interrupted(KeyboardInterrupt):
    pass


def interrupted(act, stop, files):
    """Run `act` with an interruption before instruction number `stop` of these files, or of none;
    how many there were.
    """
    n = 0

    def traced(frame, event, _):
        nonlocal n
        if frame.f_code.co_filename not in files or frame.f_code.co_name in ("_current", "locked"):
            return None  # Python itself delivers no signal between a lock and its block
        frame.f_trace_opcodes = True
        if event == "opcode":
            n += 1
            if n == stop:
                raise Interrupted
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        act()
    finally:
        sys.settrace(before)
    return n


@pytest.mark.skipif(journal.fcntl is None, reason="no file locks on this platform")
def test_interrupted_between_any_two_instructions_the_journal_goes_on(path):
    """The same ledger, and one that is opened anew, count what is in the file, and go on."""
    files = {journal.__file__, ledger.__file__}
    account = Ledger(1000, journal=path)
    account.charge(1)
    n = interrupted(lambda: account.charge(1), None, files)
    assert n > 300
    granted = 2
    for stop in range(1, n, max(n // 120, 1)):
        try:
            interrupted(lambda: account.charge(1), stop, files)
            granted += 1
        except Interrupted:
            pass
        again = Ledger.open(path)
        assert account.quote(1).left == again.left
        assert granted <= again.spent == len(again.entries) == len(account.entries)
    account.charge(1)
    told = Fraction(History(path).to_dict()["spent"])
    assert Ledger.open(path).spent == account.spent == told


def test_interrupted_between_any_two_instructions_a_new_journal_opens(tmp_path):
    files = {journal.__file__, ledger.__file__}
    n = interrupted(lambda: Ledger(1, journal=tmp_path / "whole"), None, files)
    for stop in range(1, n, max(n // 60, 1)):
        path = tmp_path / str(stop)
        with pytest.raises(Interrupted):
            interrupted(lambda p=path: Ledger(1, journal=p), stop, files)
        assert Ledger(1, journal=path).charge("1/2").left == Fraction(1, 2)
