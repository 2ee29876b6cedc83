"""A ledger over years: budgets begin anew with a period, none is paid after the last day, and what
was spent in all is reported.
"""

import json
from datetime import date, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.accounting import Ledger, journal
from metricdp.accounting.binding import Policy
from metricdp.errors import BudgetError, JournalError
from metricdp.running.history import History
from tests import cases, refuses

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
    for day in (date(2030, 12, 31), datetime(2030, 12, 31, 23, 59), "2030-12-31"):
        assert Policy.of("yearly", day) == Policy("yearly", "2030-12-31")


@pytest.mark.parametrize("renews", ["weekly", "", 1, True, ["yearly"]])
def test_no_other_periods(renews):
    refuses("renews must be one of", Ledger, 1, renews=renews)


@pytest.mark.parametrize("expires", ["2030", "2030-02-30", "30-12-2030", "2030-W01", 2030, ""])
def test_no_other_days(expires):
    refuses("expires must be a day", Ledger, 1, expires=expires)


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


def test_purposes_and_persons_are_noted_by_call(clock):
    ledger = Ledger(1, purpose="study", who="A")
    with ledger.noting(purpose="clinics"):
        ledger.charge("1/4", purpose="k_median")
        with ledger.noting(who="B"):
            ledger.charge("1/8")
    ledger.charge("1/8")
    assert [(c.purpose, c.named, c.who) for c in ledger.entries] == [
        ("clinics: k_median", "clinics", "A"),
        ("clinics", "clinics", "B"),
        ("study", "study", "A"),
    ]


def test_a_note_is_of_its_own_ledger_only():
    one, other = Ledger(1), Ledger(1)
    with one.noting(purpose="mine"):
        other.charge("1/2")
    assert other.entries[0].named == ""


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
