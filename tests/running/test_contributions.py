"""How many records to keep, chosen privately: what it counts, what it pays, what it is held to."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting.binding import Protection
from metricdp.errors import BudgetError, InputError, JournalError
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import HistogramQuery, gate
from metricdp.privacy.demand import contributors as of_numbers
from metricdp.records.engines.bounding import LogSizes
from metricdp.records.ingestion.encoders import Reading, RowEncoder
from metricdp.records.ingestion.matching import Anywhere
from metricdp.running.contributions import NUMBERS, _least, contributors
from tests import path_metric, refuses

PATH = path_metric(5)


def people(sizes):
    return [f"u{i}" for i, size in enumerate(sizes) for _ in range(size)]


def test_users_are_counted_by_powers_of_two():
    sizes = np.random.default_rng(3).integers(1, 70, 200)
    found = gate._noisy(contributors(people(sizes)), HistogramQuery(LabelParts.of(NUMBERS)), None)
    expected = [sum(2 ** (j - 1) < s <= 2**j or s == 1 == 2**j for s in sizes) for j in range(21)]
    assert found.tolist() == expected
    assert LogSizes(2).of(people([4, 5, 99])).tolist() == [2, 2, 2]


def test_the_last_number_also_counts_larger_ones():
    users = of_numbers(people([1, 8, 99]), PATH)
    assert gate._noisy(users, HistogramQuery(LabelParts.of(PATH)), None).tolist() == [1, 0, 0, 1, 1]


@pytest.mark.parametrize("users", [["a", None], ["a", float("nan")], [None]])
def test_every_record_is_somebodys(users):
    refuses("one user per record", lambda: LogSizes(3).of(users))


def test_engines_count_a_users_rows_and_keep_what_says_what_went_wrong():
    pd = pytest.importorskip("pandas")
    rule, reading = LogSizes(3), Reading(RowEncoder(("u",), Anywhere()), "u")
    users = ["b", "a", "b", "b", *["c"] * 99]
    found = rule.rows(pd.DataFrame({"_0": 0, "_user": pd.array(users, "string")}), reading)
    assert found["_0"].tolist() == [2, 0, 3] and len(found["_user"]) == 3
    lost = pd.DataFrame({"_0": [5, 0, 1], "_user": pd.array([None, "a", None], "string")})
    assert rule.rows(lost, reading) == {"_0": pytest.approx([5, 1]), "_user": [None, None]}
    assert reading.rows({"u": ["a", "b"]})["_0"].tolist() == [0, 0]
    assert rule.of(users).tolist() == [2, 0, 3]
    assert Anywhere().position("x") == 0


def test_numbers_of_records_are_as_far_apart_as_doublings():
    assert len(NUMBERS) == 21 and NUMBERS.diameter_bound() == 20
    expected = [[1, 3, 19], [4, 0, 16]]
    assert NUMBERS.grid_rows(np.array([1, 4]), np.array([0, 4, 20])).tolist() == expected
    assert NUMBERS.grid_rows(np.array([20])).tolist() == [list(range(20, -1, -1))]
    assert contributors(["a", "b"]).protects == Protection("user", 1)


def test_the_quantile_is_that_of_the_counts():
    counts = np.array([50, 30, 10, 5, 5])
    expected = [*(1, 1, 2, 2, 4, 8, 16)]
    assert [_least(counts, Fraction(q, 100))[0] for q in (1, 50, 51, 80, 90, 95, 99)] == expected
    assert _least(np.array([-3, -2, -9]), Fraction(1, 2))[0] in (1, 2, 4)
    assert _least(counts, Fraction(8, 10))[1] == 0.8
    assert _least(np.array([1, 0, 0]), Fraction(8, 10)) == (1, 1.0)
    assert _least(np.array([0, 0, 0]), Fraction(8, 10)) == (4, 0.0)
    assert _least(np.array([50, -10]), Fraction(8, 10)) == (1, 1.0)


@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
def test_it_finds_a_quantile_and_holds_the_ledger_to_it(tmp_path, neighboring):
    users = people([1, 2, 3, 4, 7, 8, 30] * 3000)
    path = tmp_path / "a.ledger"
    ledger = mdp.Ledger(1, neighboring=neighboring, journal=path)
    found = mdp.contributions(users, epsilon="0.1", quantile="0.8", ledger=ledger)
    assert found.max_contributions == 8 and abs(found.quantile - 6 / 7) < 0.05
    assert found.receipt.epsilon == Fraction(1, 10) and found.receipt.unit == "user"
    assert found.receipt.mechanisms[0].sensitivity == (1 if neighboring == "add-remove" else 2)
    again = mdp.Ledger.open(path)
    assert again.protects == Protection("user", 8) and again.left == Fraction(9, 10)
    ids = [i % 5 for i in range(len(users))]
    with pytest.raises(InputError, match="ledger of its own"):
        mdp.release(PATH, mdp.PrivateDemand(PATH, ids), epsilon="0.1", ledger=again)
    demand = mdp.PrivateDemand(PATH, ids, user=users, max_contributions=8)
    assert mdp.release(PATH, demand, epsilon="0.9", ledger=again).receipt.unit == "user"
    for asked in (users, ["a", None]):  # nothing is read before
        refuses("before anything else", mdp.contributions, asked, epsilon="0.1", ledger=again)


def test_users_of_a_file_are_those_of_a_list(tmp_path):
    users = people([1, 2, 5, 9] * 40)
    file = tmp_path / "trips.csv"
    file.write_text("who,where\n" + "".join(f"{user},7\n" for user in users))
    both, query = (contributors(users), contributors(str(file), "who")), LabelParts.of(NUMBERS)
    exact = [gate._noisy(demand, HistogramQuery(query), None).tolist() for demand in both]
    assert exact[0] == exact[1]
    refuses("no column 'whose'", lambda: contributors(str(file), "whose"))
    assert mdp.contributions(str(file), "who", epsilon=5, quantile="0.4").max_contributions == 2


def test_what_does_not_fit_the_budget_charges_nothing():
    ledger = mdp.Ledger(1)
    refuses("", mdp.contributions, ["a"], error=BudgetError, epsilon=2, ledger=ledger)
    assert ledger.left == 1 and ledger.protects is None


def test_killed_at_any_byte_of_the_journal_it_is_paid_once_and_reported_the_same(tmp_path):
    """All that outlives a kill is the journal, and of that its first bytes."""
    path = tmp_path / "a.ledger"
    mdp.Ledger(1, journal=path)
    begun = path.stat().st_size
    users = people([1, 2, 3] * 20)
    asked = {"epsilon": "3/4", "quantile": "0.5"}  # a second charge would not fit
    reported = mdp.contributions(users, ledger=mdp.Ledger.open(path), **asked)
    whole = path.read_bytes()
    charged, *_ = whole[begun:].splitlines(keepends=True)
    paid, end = begun + len(charged), len(whole)
    cuts = {begun, begun + 1, paid - 2, paid - 1, paid, paid + 1, end - 2, end - 1, end}
    for cut in sorted(cuts):
        path.write_bytes(whole[:cut])
        ledger = mdp.Ledger.open(path)
        # charged, and its answer lost: it is not drawn again for that
        if paid - 1 <= cut < end - 1:
            refuses("", mdp.contributions, users, error=BudgetError, ledger=ledger, **asked)
            assert mdp.Ledger.open(path).left == Fraction(1, 4)
            continue
        found = mdp.contributions(users, ledger=ledger, **asked)
        assert (found == reported) >= (cut >= end - 1)
        again = mdp.Ledger.open(path)
        assert again.left == Fraction(1, 4) and len(again.entries) == 1
        assert again.protects == Protection("user", found.max_contributions)
        assert mdp.contributions(["another"], ledger=again, **asked) == found
        with pytest.raises(InputError, match="before anything else"):
            mdp.contributions(users, ledger=again, epsilon="3/4", quantile="0.6")
        assert mdp.Ledger.open(path).left == Fraction(1, 4)


def test_nothing_is_reported_before_its_answer_is_on_disk(tmp_path):
    """A full disk after the charge: refused, and what was paid is spent."""
    path = tmp_path / "a.ledger"
    ledger = mdp.Ledger(1, journal=path)
    append = ledger._journal.append

    def full(line):
        if "answer" in line:
            raise JournalError("cannot write the journal")
        append(line)

    ledger._journal.append = full
    refuses("", mdp.contributions, ["a"], error=JournalError, epsilon=1, ledger=ledger)
    assert ledger.left == 0 and ledger.protects is None
    with pytest.raises(BudgetError):
        mdp.contributions(["a"], epsilon=1, ledger=mdp.Ledger.open(path))
    assert len(mdp.Ledger.open(path).entries) == 1


def test_a_charge_of_the_same_name_by_others_is_not_taken_for_it():
    ledger = mdp.Ledger(2)
    ledger.charge(1, purpose="contributions")
    mdp.contributions(["a"], epsilon=1, ledger=ledger)
    assert ledger.left == 0
