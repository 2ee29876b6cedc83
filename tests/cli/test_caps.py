"""``--caps``: users bounded in every public part, from the command line."""

import pytest

import metricdp as mdp
from tests import cases
from tests.cli_world import build_road, fails, run, works

ASK = ("cluster", "roads.csv", "--demand", "homes.csv", "-k", "2", "--epsilon", "1", "-q")


@pytest.fixture
def town(here):
    build_road(here, 300, [f"{(7 * i) % 300},u{i % 400}" for i in range(9000)], "vertex,who")


def test_noise_follows_the_caps_and_the_ledger_their_bound(town, capsys):
    paid = ("--ledger", "a.ledger", "--epsilon-budget", "3", "--delta-budget", "1e-5")
    capped = (*ASK, "--user", "who", "--caps", "20,2")
    receipt = works(capsys, *capped, "--delta", "1e-6", *paid).json["receipt"]
    assert receipt["unit"] == "user" and receipt["delta"] == 1e-6
    assert {one["name"] for one in receipt["mechanisms"]} == {"discrete Gaussian"}
    again = run(capsys, *ASK, "--user", "who", "--max-contributions", "40", "--ledger", "a.ledger")
    assert again.status == 0, again.err  # as many records of each user: the same promise
    other = run(capsys, *ASK, "--user", "who", "--caps", "20", "--ledger", "a.ledger")
    assert other.status != 0 and "up to 40 records" in other.err


def test_a_delta_that_only_caps_use_is_refused_before_anything_is_made(town, capsys, tmp_path):
    capped = (*ASK, "--user", "who", "--caps", "20,2", "--delta", "1e-6")
    fails(capsys, "delta 1e-06", *capped, "--ledger", "new.ledger", "--delta-budget", "0", status=3)
    old = mdp.Ledger(3, journal=tmp_path / "old.ledger")
    fails(capsys, "delta 1e-06", *capped, "--ledger", "old.ledger", status=3)
    assert old.left == 3
    none = run(capsys, *ASK, "--user", "who", "--delta", "1e-6", "--ledger", "old.ledger")
    assert none.status == 0, none.err  # no caps, no use of a delta: nothing of it is charged


@cases(
    ("options", "why"),
    (("--caps", "20"), "--user"),
    (("--user", "who", "--caps", "20", "--max-contributions", "2"), "--caps"),
    (("--user", "who", "--caps", "20", "--weighting", "share"), "--caps"),
    (("--user", "who", "--caps", "0"), "PARTS"),
    (("--user", "who", "--caps", "2,x"), "PARTS"),
    (("--user", "who", "--caps", "999999,999999"), "PARTS"),
)
def test_what_does_not_go_together_is_refused(town, capsys, options, why):
    fails(capsys, why, *ASK, *options)
