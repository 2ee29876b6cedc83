"""A ledger over years: budgets begin anew with a period, a slice is void when its period ends,
wherever it is held, none is paid after the last day, and what was spent in all is reported.
"""

import json
import sys
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.accounting import Cost, Ledger, Protection, journal, ledger
from metricdp.accounting.binding import Policy
from metricdp.errors import BudgetError, InputError, JournalError
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CostQuery, CountQuery, measure, select, split
from metricdp.running.history import History
from tests import cases, path_metric, refuses

files = pytest.mark.skipif(journal.fcntl is None, reason="no file locks on this platform")
DAYS = st.dates(date(2020, 1, 1), date(2039, 12, 31))


@pytest.fixture
def clock(monkeypatch):
    now = {"day": "2030-12-31"}
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: now["day"])
    return now


@given(DAYS, DAYS, st.sampled_from(("yearly", "quarterly", "monthly")))
def test_periods_sort_by_time_and_are_counted(one, other, renews):
    early, late = sorted((one, other))
    policy = Policy.of(renews, late)
    assert policy.period(early.isoformat()) <= policy.period(late.isoformat())
    met, day = set(), early
    while day <= late:
        met.add(policy.period(day.isoformat()))
        day = min(day + timedelta(days=27), late) if day < late else day + timedelta(days=1)
    months = {"yearly": 12, "quarterly": 3, "monthly": 1}[renews]
    first, last = ((12 * day.year + day.month - 1) // months for day in (early, late))
    assert len(met) == last - first + 1


@cases(
    ("policy", "period", "words"),
    (Policy(), "", ""),
    (Policy(None, "2031-02-28"), "", "expires after 2031-02-28"),
    (Policy("yearly"), "2030", "renews yearly: the budget is that of each year by"),
    (Policy("yearly", "2029-12-31"), "2030", "; expires after 2029-12-31"),
    (Policy("yearly", "2031-01-01"), "2030", "for T of them is protected by T times as"),
    (Policy("quarterly", "2031-01-01"), "2030-Q2", "quarterly: the budget is that of each"),
    (Policy("monthly", "2031-02-28"), "2030-06", "as much; expires after 2031-02-28"),
)
def test_what_a_policy_says_of_a_day(policy, period, words):
    day = "2030-06-30"
    assert (policy.period(day), policy.period("")) == (period, "")
    assert words in str(policy) and ("renews" in str(policy)) == (policy.renews is not None)
    assert Policy.stated(policy.facts()) == policy
    days = ("2029-12-31", "2031-02-28", "2031-03-01")
    expected = [policy.expires is not None and day > policy.expires for day in days]
    assert [policy.expired(day) for day in days] == expected


def test_days_are_read_from_calendars_too():
    late = datetime(2030, 12, 31, 23, 59)
    for day in (date(2030, 12, 31), late, late.replace(tzinfo=UTC), "2030-12-31"):
        assert Policy.of("yearly", day) == Policy("yearly", "2030-12-31")
    assert Policy.of("yearly", "2032-02-29").expires == "2032-02-29"
    assert Policy.of("quarterly").period("2028-12-31") == "2028-Q4"


@pytest.mark.parametrize("renews", ["weekly", "", 1, True, ["yearly"]])
def test_no_other_periods(renews):
    refuses("renews must be one of", Ledger, 1, renews=renews)


@cases("day", "2030", "2030-02-30", "30-12-2030", "2030-W01", 2030, "", "2031-02-29", "2030-04-31")
def test_no_other_days(day):
    refuses("expires must be a day", Ledger, 1, expires=day)
    for no_day in ("0000-01-01", pd.NaT):
        refuses("expires must be a day", Policy.of, None, no_day)


def test_a_budget_begins_anew_and_remembers_all(clock):
    ledger = Ledger(1, "1e-6", renews="yearly")
    ledger.charge("3/4", "1e-6")
    refuses("", ledger.charge, "1/2", error=BudgetError)
    clock["day"] = "2031-01-01"
    assert (ledger.spent, ledger.left, ledger.spent_delta) == (0, 1, 0)
    assert ledger.quote("1/2").fits
    ledger.charge("1/2")
    expected = Fraction(1, 2), Fraction(1, 2), Fraction(5, 4)
    assert (ledger.spent, ledger.left, ledger.ever_spent) == expected


def test_without_renewal_nothing_is_forgotten(clock):
    ledger = Ledger(1)
    ledger.charge("3/4")
    clock["day"] = "2099-01-01"
    assert ledger.left == Fraction(1, 4)


def test_a_clock_set_back_opens_no_old_period(clock):
    clock["day"] = "2031-06-01"
    ledger = Ledger(1, renews="yearly", expires="2031-12-31")
    ledger.charge(1)
    clock["day"] = "2030-01-01"
    refuses("", ledger.charge, "1/2", error=BudgetError)
    assert ledger.spent == 1


def test_after_the_last_day_nothing_is_paid_read_or_written(clock):
    metric = mdp.PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]])
    demand = mdp.PrivateDemand(metric, [0, 1, 1])
    ledger = Ledger(1, expires="2030-12-31")
    assert mdp.release(metric, demand, epsilon="1/2", ledger=ledger).receipt.epsilon == 0.5
    clock["day"] = "2031-01-01"
    assert not ledger.quote("1/4").fits
    for call in (
        lambda: ledger.charge("1/4"),
        lambda: mdp.release(metric, demand, epsilon="1/4", ledger=ledger),
        lambda: mdp.evaluate(metric, demand, [0], epsilon="1/4", ledger=ledger),
    ):
        refuses("expired after 2030-12-31", call)
    assert ledger.ever_spent == Fraction(1, 2)


def test_purposes_and_persons_are_noted(clock):
    ledger = Ledger(1, purpose="study", who="A")
    ledger.charge("1/4", purpose="k_median")
    ledger.charge("1/8")
    assert [(c.purpose, c.named, c.who) for c in ledger.entries] == [
        ("study: k_median", "study", "A"),
        ("study", "study", "A"),
    ]


@files
def test_the_journal_keeps_policy_and_persons(clock, tmp_path):
    path = tmp_path / "years.ledger"
    Ledger(1, journal=path, renews="yearly", expires="2032-12-31", who="A", purpose="p").charge(1)
    clock["day"] = "2031-01-01"
    again = Ledger.open(path)
    assert again.policy == Policy("yearly", "2032-12-31") and again.left == 1
    again.charge("1/2")
    reported = History(path).to_dict()
    assert (reported["spent"], reported["left"], reported["ever_spent"]) == ("1/2", "1/2", "3/2")
    assert [entry["left"] for entry in reported["entries"]] == ["0", "1/2"]
    assert reported["purposes"] == {"p": "1"} and reported["entries"][0]["who"] == "A"
    for other in ({"renews": "monthly"}, {"expires": "2031-12-31"}):
        refuses("which cannot be changed", Ledger, 1, error=JournalError, journal=path, **other)


@files
def test_a_period_beyond_its_budget_is_noticed(clock, tmp_path):
    paths = [tmp_path / name for name in ("small", "large")]
    for path, budget in zip(paths, (1, 2)):
        ledger = Ledger(budget, journal=path, renews="yearly")
        ledger.charge(1)
    ledger.charge(1)
    small, large = (path.read_text().splitlines() for path in paths)
    forged = Ledger(1, journal=tmp_path / "forged", renews="yearly")
    with forged._current():
        for line in large[1:]:
            forged._journal.append(json.loads(line)["line"])
    refuses("beyond its budget", History, tmp_path / "forged", error=JournalError)
    assert len(small) == 2


@files
@pytest.mark.parametrize("form", ["metricdp-journal-1", "metricdp-journal-2"])
def test_journals_from_before_have_no_policy(clock, tmp_path, form, monkeypatch):
    path = tmp_path / "old.ledger"
    monkeypatch.setattr(journal, "FORMATS", (form,))
    Ledger(1, journal=path).charge("1/2")
    monkeypatch.undo()
    again = Ledger.open(path)
    assert (again.policy, again.left) == (Policy(), Fraction(1, 2))
    refuses("which cannot be changed", Ledger, 1, error=JournalError, journal=path, renews="yearly")


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
