"""``metricdp contributions``: m chosen privately, paid, and what the ledger is held to after it."""

import json

import pytest

import metricdp as mdp
from metricdp.accounting.binding import Protection
from tests.cli_world import build_road, fails, run, snapshot, works

CHOOSE = ("contributions", "homes.csv", "--user", "who", "--epsilon", "1")
NEW = ("--ledger", "a.ledger", "--epsilon-budget", "4")


@pytest.fixture
def town(here):
    """2,400 users: a third with one record each, a third with three, a third with six."""
    rows = [f"{(7 * i) % 40},canary{i}" for i in range(2400) for _ in range((1, 3, 6)[i % 3])]
    build_road(here, 40, rows, "vertex,who")
    return here


def test_m_is_reported_paid_and_kept_by_the_ledger(town, capsys):
    # the noise of 21 counts at epsilon 1 would have to sum to 400 to move the median: below e^-100
    ran = works(capsys, *CHOOSE, *NEW, "--quantile", "0.5", "--output", "m.json")
    reported = ran.json
    assert reported == json.loads((town / "m.json").read_text())
    assert reported["max_contributions"] == 4 and abs(reported["counts"]["8"] - 800) < 100
    assert reported["receipt"]["unit"] == "user" and reported["receipt"]["epsilon"] == 1
    assert "--max-contributions 4" in ran.err and "3 of 4 left" in ran.err
    assert "canary" not in ran.out + ran.err
    kept = mdp.Ledger.open("a.ledger")
    assert kept.protects == Protection("user", 4) and kept.left == 3

    ask = ("cluster", "roads.csv", "--demand", "homes.csv", "-k", "2", "--epsilon", "1", "-q")
    receipt = works(capsys, *ask, "--user", "who", "--ledger", "a.ledger").json["receipt"]
    assert receipt["made"]["max_contributions"] == 4  # nobody had to say it again
    assert {one["sensitivity"] for one in receipt["mechanisms"]} == {4}
    other = ("--user", "who", "--max-contributions", "2", "--ledger", "a.ledger")
    fails(capsys, "up to 4 records", *ask, *other)
    fails(capsys, "protects each user", *ask, "--ledger", "a.ledger")
    fails(capsys, "before anything else", *CHOOSE, "--ledger", "a.ledger")
    assert mdp.Ledger.open("a.ledger").left == 2


def test_without_a_ledger_it_only_tells(town, capsys):
    before = snapshot(town)
    ran = works(capsys, *CHOOSE, "--quantile", "9/10", "--neighboring", "replace-one")
    assert ran.json["max_contributions"] == 8
    assert ran.json["receipt"]["mechanisms"][0]["sensitivity"] == 2
    assert snapshot(town) == before


def test_the_same_call_again_is_reported_the_same_and_charged_nothing(town, capsys):
    first = run(capsys, *CHOOSE, "--ledger", "a.ledger", "--epsilon-budget", "1")
    whole = (town / "a.ledger").read_bytes()
    again = run(capsys, *CHOOSE, "--ledger", "a.ledger")
    assert again.status == 0 and again.out == first.out and "paid for before" in again.err
    assert (town / "a.ledger").read_bytes() == whole


# ``--caps``: users bounded in every public part, from the command line


ASK = ("cluster", "roads.csv", "--demand", "homes.csv", "-k", "2", "--epsilon", "1", "-q")


@pytest.fixture
def long_road(here):
    build_road(here, 300, [f"{(7 * i) % 300},u{i % 400}" for i in range(9000)], "vertex,who")


def test_noise_follows_the_caps_and_the_ledger_their_bound(long_road, capsys):
    paid = ("--ledger", "a.ledger", "--epsilon-budget", "3", "--delta-budget", "1e-5")
    capped = (*ASK, "--user", "who", "--caps", "20,2")
    receipt = works(capsys, *capped, "--delta", "1e-6", *paid).json["receipt"]
    assert receipt["unit"] == "user" and receipt["delta"] == 1e-6
    assert {one["name"] for one in receipt["mechanisms"]} == {"discrete Gaussian"}
    again = run(capsys, *ASK, "--user", "who", "--max-contributions", "40", "--ledger", "a.ledger")
    assert again.status == 0, again.err  # as many records of each user: the same promise
    other = run(capsys, *ASK, "--user", "who", "--caps", "20", "--ledger", "a.ledger")
    assert other.status != 0 and "up to 40 records" in other.err


def test_a_delta_that_only_caps_use_is_refused_before_anything_is_made(long_road, capsys, tmp_path):
    capped = (*ASK, "--user", "who", "--caps", "20,2", "--delta", "1e-6")
    fails(capsys, "delta 1e-06", *capped, "--ledger", "new.ledger", "--delta-budget", "0", status=3)
    old = mdp.Ledger(3, journal=tmp_path / "old.ledger")
    fails(capsys, "delta 1e-06", *capped, "--ledger", "old.ledger", status=3)
    assert old.left == 3
    none = run(capsys, *ASK, "--user", "who", "--delta", "1e-6", "--ledger", "old.ledger")
    assert none.status == 0, none.err  # no caps, no use of a delta: nothing of it is charged
