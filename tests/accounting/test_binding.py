"""One ledger, one data set, one unit, one bound; and a journal that was rolled back is noticed."""

import json
import shutil
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Ledger, Protection, journal
from metricdp.accounting.binding import dataset_name
from metricdp.errors import BudgetError, InputError, JournalError
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CountQuery, measure, split
from metricdp.running.history import History
from tests import cases, each, refuses

pytestmark = pytest.mark.skipif(journal.fcntl is None, reason="no file locks on this platform")
RECORD, USER, USERS = Protection("record", 1), Protection("user", 1), Protection("user", 3)


@pytest.fixture
def path(tmp_path):
    """Where a ledger is kept."""
    return tmp_path / "study.ledger"


METRIC = mdp.PrecomputedMetric(np.ones((6, 6)) - np.eye(6))


@pytest.fixture(scope="module")
def demands():
    nodes, users = [0, 1, 2] * 20, list(range(20)) * 3
    return {
        RECORD: mdp.PrivateDemand(METRIC, nodes),
        USER: mdp.PrivateDemand(METRIC, nodes, user=users),
        USERS: mdp.PrivateDemand(METRIC, nodes, user=users, max_contributions=3),
    }


CALLS = {
    "k_median": lambda demand, paid: mdp.k_median(METRIC, demand, 2, epsilon="1/8", ledger=paid),
    "release": lambda demand, paid: mdp.release(METRIC, demand, epsilon="1/8", ledger=paid),
    "measure": lambda demand, paid: measure(demand, CountQuery(), "1/8", paid.charge("1/8")),
    "split": lambda demand, paid: split(demand, LabelParts.of(METRIC), "1/8", paid),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "journal"])
def test_the_first_use_decides_and_others_are_refused(call, kept, demands, tmp_path):
    for first, demand in demands.items():
        path = tmp_path / f"{first}.ledger" if kept else None
        ledger = Ledger(9, journal=path)
        assert ledger.protects is None
        CALLS[call](demand, ledger)
        assert ledger.protects == first
        CALLS[call](demand, ledger)
        for other in demands.keys() - {first}:
            again = Ledger(9, journal=path) if kept else ledger
            spent, bytes_ = ledger.spent, path.read_bytes() if kept else b""
            said = str(refuses("", CALLS["k_median"], demands[other], again))
            assert f"protects {first};" in said and f"protects {other}:" in said
            assert ledger.spent == spent
            assert not kept or path.read_bytes() == bytes_


def test_a_budget_slice_bought_without_a_demand_is_held_to_the_first_it_reads(demands):
    ledger = Ledger(1)
    budget, other = ledger.charge("1/2"), ledger.charge("1/4")
    piece = budget.charge("1/4")
    measure(demands[USERS], CountQuery(), "1/8", piece)
    assert ledger.protects == budget.protects == piece.protects == USERS
    for purse in (budget, other, piece):
        with pytest.raises(InputError, match="protects each user, up to 3 records of each"):
            measure(demands[RECORD], CountQuery(), "1/8", purse)
        assert purse.spent == (0 if purse is other else Fraction(1, 4 if purse is budget else 8))


def test_a_refused_charge_binds_nothing(path, demands):
    ledger = Ledger(1, journal=path)
    before = path.read_bytes()
    refuses("", ledger.charge, 2, error=BudgetError, protects=USERS)
    half = Ledger(1).charge("1/2")
    refuses("", measure, demands[USERS], CountQuery(), 1, half, error=BudgetError)
    assert ledger.protects is None
    assert path.read_bytes() == before
    ledger.charge(1, protects=RECORD)
    assert ledger.protects == RECORD


def test_unit_and_bound_may_be_fixed_beforehand(demands, path):
    ledger = Ledger(1, journal=path, unit="user", max_contributions=3)
    words = "protects each user, up to 3 "
    refuses(f"this ledger {words}records", CALLS["k_median"], demands[USER], ledger)
    refuses(
        f"{words}.*, not each record", Ledger, 1, error=JournalError, journal=path, unit="record"
    )
    assert Ledger(1, journal=path).protects == USERS
    assert Ledger(1, unit="record").protects == RECORD


@cases(
    "given",
    {"unit": "record", "max_contributions": 2},
    *({"unit": "user", "max_contributions": m} for m in (0, 1.5)),
    *each(
        unit=["household", "user"], max_contributions=[2], anchor=["1-" + 32 * "0"], dataset=[""]
    ),
    ids=str,
)
def test_bad_arguments(given):
    refuses("", Ledger, 1, **given)


SHARES = Protection("user", 1, "share")


@cases(
    ("given", "read", "words"),
    ((None,), None, ""),
    (("record",), RECORD, "each record"),
    (("record", 1), RECORD, "each record"),
    (("user", 1), USER, "each user, up to 1 record of each"),
    (("user", 2000), Protection("user", 2000), "each user, up to 2,000 records of each"),
    (("user", 2**31 - 1), Protection("user", 2**31 - 1), "up to 2,147,483,647 records"),
    (("user", None, "share"), SHARES, "each user, one unit of weight over all records of"),
    (("user", 1, "share"), SHARES, "each user, one unit of weight over all records of"),
)
def test_who_is_protected_is_read_reported_and_stated(given, read, words):
    assert Protection.of(*given) == read
    if read is not None:
        assert words in str(read) and Protection.stated(read.facts()) == read
        assert set(read.facts()) <= {"dataset", "unit", "max_contributions", "weighting"}
        assert ("weighting" in read.facts()) == (read == SHARES)
    assert Protection.stated({"epsilon": "1"}) is None
    assert Protection.stated({"unit": "user"}) == USER


@cases(
    ("given", "error"),
    ((None, 1), "unit must be 'record' or 'user'"),
    (("household", 1), "unit must be 'record' or 'user'"),
    (("record", 2), "1 for records"),
    (("record", 0), "1 for records"),
    (("record", "x"), "1 for records"),
    (("user", None), "at least 1 for users"),
    (("user", 0), "at least 1 for users"),
    (("user", 1.5), "at least 1 for users"),
    (("user", 2**31), "at least 1 for users"),
    (("user", 2, "share"), "weighting must be 'record' or, of users, 'share'"),
    (("record", 1, "share"), "weighting must be 'record' or, of users, 'share'"),
    (("record", None, "share"), "weighting must be 'record' or, of users, 'share'"),
    (("user", 1, "people"), "weighting must be 'record' or, of users, 'share'"),
)
def test_nobody_else_is_protected(given, error):
    refuses(error, Protection.of, *given)


def test_a_data_set_has_a_name_of_one_line():
    for name in ("x" * 200, " a ", None):
        assert dataset_name(name) == name
    for wrong in ("", "  ", "x" * 201, "a\nb", 7, b"a"):
        refuses("1 to 200 printable characters", dataset_name, wrong)


def test_another_data_set_is_refused(tmp_path, path):
    Ledger(1, journal=path, dataset="homes-2026").charge("1/4")
    assert Ledger(1, journal=path).dataset == "homes-2026"
    before = path.read_bytes()
    with pytest.raises(JournalError, match="is of the data set 'homes-2026', not 'homes-2025'"):
        Ledger(1, journal=path, dataset="homes-2025")
    assert path.read_bytes() == before
    unnamed = tmp_path / "unnamed.ledger"
    open_ = Ledger(1, journal=unnamed)
    late, other = (Ledger(1, journal=unnamed, dataset=name) for name in ("a", "b"))
    late.charge("1/4")
    refuses("of the data set 'a', not 'b'", other.charge, "1/4", error=JournalError)
    open_.charge("1/4")
    assert open_.dataset == "a"


def test_of_two_processes_the_first_decides(path):
    one, other = Ledger(1, journal=path), Ledger(1, journal=path)
    one.charge("1/8", protects=USERS)
    refuses("this ledger protects each user, up to 3 records", other.charge, "1/8", protects=RECORD)
    assert other.charge("1/8", protects=USERS).protects == USERS


def test_purposes_days_and_units_come_back(path, monkeypatch):
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2031-02-03")
    ledger = Ledger(1, journal=path, purpose="clinics")
    ledger.charge("1/4", purpose="k_median", protects=USERS)
    ledger.charge("1/8")
    for entries in (ledger.entries, Ledger.open(path).entries, History(path).entries):
        assert entries == (
            (Fraction(1, 4), 0, "clinics: k_median", "2031-02-03", USERS, "", "clinics"),
            (Fraction(1, 8), 0, "clinics", "2031-02-03", USERS, "", "clinics"),
        )


# -------------------------------------------------------------------------------- old files


def test_a_journal_of_the_first_format_is_gone_on_from(path):
    """It had no day, no unit, no data set."""
    made = journal.Journal(path, {"epsilon": "1", "delta": "0", "neighboring": "add-remove"})
    made.header["format"] = journal.FORMATS[0]
    with made.locked():
        for i in range(2):
            made.append({"epsilon": "1/10", "delta": "0", "purpose": f"call {i}"})
    before = path.read_bytes()
    ledger = Ledger(1, journal=path, dataset="homes")
    assert ledger.spent == Fraction(1, 5)
    assert [entry.day for entry in ledger.entries] == ["", ""]
    ledger.charge("1/10", protects=USERS)
    assert path.read_bytes().startswith(before)
    again = Ledger.open(path)
    assert (again.dataset, again.protects, again.spent) == ("homes", USERS, Fraction(3, 10))
    assert History(path).to_dict()["entries"][0]["day"] == ""


def test_a_format_of_the_future_is_refused(path):
    made = journal.Journal(path, {"epsilon": "1", "delta": "0", "neighboring": "add-remove"})
    made.header["format"] = "metricdp-journal-99"
    with made.locked():
        pass
    for read in (Ledger.open, History):
        refuses("is of another ledger", read, path, error=JournalError)


# ------------------------------------------------------------------------------------ anchors


def test_a_journal_that_was_rolled_back_is_noticed(tmp_path, path):
    copy = tmp_path / "backup"
    ledger = Ledger(1, journal=path)
    ledger.charge("1/2")
    shutil.copy(path, copy)
    early = ledger.anchor
    ledger.charge("1/2")
    late = ledger.anchor
    assert Ledger.open(path, anchor=early).anchor == late
    shutil.copy(copy, path)
    assert Ledger.open(path).left == Fraction(1, 2)  # without an anchor nothing can tell
    for check in (
        lambda: Ledger(1, journal=path, anchor=late),
        lambda: Ledger.open(path, anchor=late),
        lambda: History(path, anchor=late),
    ):
        refuses("does not go on from the anchor 3-", check, error=JournalError)
    assert path.read_bytes() == copy.read_bytes()
    assert Ledger.open(path, anchor=early).anchor == early


def test_a_rewritten_history_does_not_hold_the_anchor(path):
    ledger = Ledger(1, journal=path)
    ledger.charge("1/2", purpose="truth")
    kept = ledger.anchor
    path.unlink()
    other = Ledger(1, journal=path)
    for _ in range(3):  # as long, and longer, and with valid checksums throughout
        other.charge("1/100", purpose="lies")
        refuses("rolled back or rewritten", Ledger.open, path, error=JournalError, anchor=kept)


def test_an_anchor_of_a_file_that_is_gone_makes_none(path):
    kept = Ledger(1, journal=path).anchor
    path.unlink()
    refuses("cannot open the journal", Ledger, 1, error=JournalError, journal=path, anchor=kept)
    path.write_bytes(b"")
    with pytest.raises(JournalError, match="does not go on from the anchor"):
        Ledger(1, journal=path, anchor=kept)
    assert path.read_bytes() == b""


def test_a_ledger_without_a_file_has_no_anchor():
    assert Ledger(1).anchor is None


@cases("text", "", "3", "x-" + 32 * "0", "1-" + 31 * "0", "0-" + 32 * "0", "1-" + 32 * "g", 3)
def test_what_is_no_anchor_is_refused(text, tmp_path):
    with pytest.raises(InputError, match="an anchor is a number, a dash and 32"):
        Ledger(1, journal=tmp_path / "study.ledger", anchor=text)
    assert not (tmp_path / "study.ledger").exists()


# ------------------------------------------------------------------------------------ histories


def test_a_history_is_read_without_changing_a_byte(path):
    ledger = Ledger(1, journal=path, delta="1/1000")
    ledger.charge("1/3", "1/2000", purpose="a")
    whole = path.read_bytes()
    ledger.charge("1/3")
    longer = path.read_bytes()
    for cut in range(len(whole) + 1, len(longer) - 1):
        path.write_bytes(longer[:cut])
        history = History(path)
        assert history.torn and len(history.entries) == 1
        assert path.read_bytes() == longer[:cut]
    path.write_bytes(longer)
    refuses("not locked", lambda: History(path).charge("1/9"), error=JournalError)
    assert path.read_bytes() == longer
    reported = History(path).to_dict()
    assert json.dumps(reported)
    assert (reported["left"], reported["left_delta"], reported["lines"]) == ("1/3", "1/2000", 3)
    assert [entry["left"] for entry in reported["entries"]] == ["2/3", "1/3"]


def test_records_that_are_left_out_do_not_add_a_user():
    for weighting, caps, name in (("share", None, "weighting"), ("record", 2, "caps")):
        with pytest.raises(InputError, match=f"max_snap leaves out records, and {name}"):
            Protection.asked(True, None, weighting, caps, limited=True)
