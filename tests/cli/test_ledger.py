"""``metricdp ledger create`` and ``show``, and the options of a ledger on other commands."""

import json

import pytest

import metricdp as mdp
from metricdp.accounting import journal
from tests import cases
from tests.cli_world import build_road, fails, run

pytestmark = pytest.mark.skipif(journal.fcntl is None, reason="no file locks on this platform")
CALL = ["cluster", "roads.csv", "--demand", "homes.csv", "-k", "2", "--epsilon", "1/4"]
KEPT = [*CALL, "--ledger", "study.ledger", "--epsilon-budget", "1"]


@pytest.fixture
def world(here, monkeypatch):
    build_road(here, 9, [f"{i},p{i}" for i in range(9)], "vertex,who")
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2031-02-03")
    return here


def test_show_prints_the_history(world, capsys):
    assert run(capsys, *KEPT, "--dataset", "homes-2031", "--purpose", "where to\nbuild")[0] == 0
    assert run(capsys, *CALL, "--ledger", "study.ledger")[0] == 0
    anchor = mdp.Ledger.open("study.ledger").anchor
    before = (world / "study.ledger").read_bytes()
    status, out, err = run(capsys, "ledger", "show", "study.ledger")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "budget epsilon 1, delta 0; add-remove neighbors; protects each record; data set "
        "homes-2031",
        "",
        "          day  epsilon  delta  left  purpose",
        r"1  2031-02-03      1/4      0   3/4  where to\nbuild: release",
        "2  2031-02-03      1/4      0   1/2  release",
        "",
        "spent 1/2, left 1/2; delta: spent 0, left 0",
        r"by purpose: where to\nbuild 1/4",
        f"chain verified: 3 lines; anchor {anchor}",
    ]
    reported = json.loads(run(capsys, "ledger", "show", "study.ledger", "--json")[1])
    assert (reported["left"], reported["anchor"], len(reported["entries"])) == ("1/2", anchor, 2)
    assert (world / "study.ledger").read_bytes() == before


def test_the_anchor_on_stderr_notices_a_rollback(world, capsys):
    first = run(capsys, *KEPT)[2]
    backup = (world / "study.ledger").read_bytes()
    second = run(capsys, *KEPT)[2]
    early, late = (err.split("anchor ")[1].split()[0] for err in (first, second))
    assert run(capsys, *KEPT, "--anchor", early)[0] == 0
    (world / "study.ledger").write_bytes(backup)
    cases = [*KEPT, "--anchor", late], ["ledger", "show", "study.ledger", "--anchor", late]
    for command in cases:
        fails(capsys, f"does not go on from the anchor {late}: it was rolled back", *command)
    shown = run(capsys, "ledger", "show", "study.ledger", "--anchor", early)[1]
    assert "chain verified: 2 lines, going on from the given anchor" in shown
    (world / "study.ledger").unlink()
    fails(capsys, "cannot open the journal", *KEPT, "--anchor", early)


@cases(
    ("more", "words"),
    (["--user", "who"], "this ledger protects each record; the demand protects each user, up"),
    (["--dataset", "homes-2030"], "is of the data set 'homes-2031', not 'homes-2030'"),
    (["--neighboring", "replace-one"], "has add-remove neighbors, not replace-one"),
)
def test_what_a_ledger_is_about_is_not_mixed(world, capsys, more, words):
    assert run(capsys, *KEPT, "--dataset", "homes-2031")[0] == 0
    fails(capsys, words, *CALL, "--ledger", "study.ledger", *more)


def test_an_unfinished_line_is_reported(world, capsys):
    assert run(capsys, *KEPT)[0] == 0
    with (world / "study.ledger").open("ab") as file:
        file.write(b'{"line": {"de')
    status, out, err = run(capsys, "ledger", "show", "study.ledger")
    assert status == 0
    assert "chain verified: 2 lines" in out
    assert "ends in an unfinished line, which paid for nothing" in err


def test_years_and_persons_are_shown(world, capsys, monkeypatch):
    first = ["--renews", "yearly", "--expires", "2032-06-30", "--who", "planning office"]
    assert run(capsys, *KEPT[:-2], *first)[0] == 0  # a budget of 1/4, spent
    fails(capsys, "privacy budget refused", *KEPT[:-2], status=3)
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2032-01-01")
    assert run(capsys, *KEPT[:-2], "--purpose", "clinics")[0] == 0
    _, out, _ = run(capsys, "ledger", "show", "study.ledger")
    assert "renews yearly: the budget is that of each year by itself" in out
    assert "expires after 2032-06-30" in out
    assert "planning office" in out
    assert "spent in all periods together: 1/2" in out
    assert "by purpose: clinics 1/4" in out
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2032-07-01")
    fails(capsys, "expired after 2032-06-30", *KEPT[:-2])
    fails(capsys, "--renews is about a ledger", *CALL, "--renews", "yearly")
    fails(capsys, "which cannot be changed", *KEPT[:-2], "--renews", "monthly")


def test_create_makes_a_ledger_that_calls_spend_from(world, capsys):
    made = ["ledger", "create", "study.ledger", "--epsilon", "3/8", "--dataset", "homes-2031"]
    (world / "study.ledger").touch()  # where a full disk left an empty file it goes on
    status, out, err = run(capsys, *made, "--neighboring", "replace-one")
    ledger = mdp.Ledger.open("study.ledger")
    assert (status, out) == (0, "")
    assert err == f"metricdp: made study.ledger: epsilon 3/8 to spend; anchor {ledger.anchor}\n"
    assert (ledger.left, ledger.neighboring, ledger.dataset) == (3 / 8, "replace-one", "homes-2031")
    fails(capsys, "is there already", *made)
    assert run(capsys, *CALL, "--ledger", "study.ledger")[0] == 0
    spent = "asked epsilon 0.25, spent 0.25, left 0.125"
    fails(capsys, spent, *CALL, "--ledger", "study.ledger", status=3)
