"""``metricdp federated``: two hospitals, by the commands of the help text."""

import pytest

import metricdp as mdp
from tests import beside
from tests.cli_world import build_road, fails, run, works

REFUSED = beside(__file__, "refusals.toml")["federated"]


@pytest.fixture(autouse=True)
def _country(here):
    build_road(here, 30)
    for name, vertex in (("north", 3), ("south", 27)):
        (here / f"{name}.csv").write_text("vertex\n" + f"{vertex}\n" * 3000)


def ran(capsys, *argv):
    return works(capsys, "federated", *argv, "--json").json


BUDGET = ("--epsilon-budget", "3", "--delta-budget", "3e-6")


def answer(capsys, name, number, *more):
    other = {"north": "south", "south": "north"}[name]
    asked = ("answer", f"{number}.invitation", "roads.csv", "--key", f"{name}.key")
    asked += ("--peer", f"{other}.card", "--demand", f"{name}.csv", "--ledger", f"{name}.ledger")
    return ran(capsys, *asked, *BUDGET, "--output", f"{name}.answer", "-q", *more)


def begun(capsys):
    for name in ("north", "south"):
        ran(capsys, "join", f"{name}.key", "--name", f"The {name}", "--output", f"{name}.card")
    invite = ("invite", "study", "roads.csv", "--holder", "north.card", "--holder", "south.card")
    return ran(capsys, *invite, "--epsilon", "1", "--output", "1.invitation", "-q")


def collect(number):
    files = ("collect", "study", "roads.csv", "north.answer", "south.answer")
    return (*files, "--output", f"{number}.invitation", "--save-release", "places.release", "-q")


def test_two_hospitals(here, capsys):
    assert begun(capsys)["holders"] == ["The north", "The south"]
    number, reported = 1, {}
    while "release" not in reported:
        for name in ("north", "south"):
            reported = answer(capsys, name, number)
            assert reported["round"] == number
            assert set(reported["holders"]) == {"The north", "The south"}
            assert reported["bytes"] == (here / f"{name}.answer").stat().st_size
        number += 1
        reported = ran(capsys, *collect(number))
    assert number == 4  # a count and two rounds
    receipt = reported["receipt"]
    assert receipt["epsilon"] == 1 and receipt["made"]["model"] == "federated"
    assert mdp.Ledger.open(here / "north.ledger").spent == 1
    again = ran(capsys, *collect(number))  # such as after a crash
    assert again["release"] == "places.release"
    centers = ("cluster", "roads.csv", "--from-release", "places.release", "-k", "2", "--json")
    assert sorted(map(int, run(capsys, *centers).json["centers"])) == [3, 27]
    assert run(capsys, "evidence", "places.release").status in (0, 2)


def test_what_is_lost_is_made_again(here, capsys):
    begun(capsys)
    first = answer(capsys, "north", 1)
    kept = (here / "north.answer").read_bytes()
    assert answer(capsys, "north", 1) == first and (here / "north.answer").read_bytes() == kept
    asked = (here / "1.invitation").read_bytes()
    ran(capsys, "invite", "study", "roads.csv", "--output", "1.invitation")
    assert (here / "1.invitation").read_bytes() == asked
    fails(capsys, "south.answer", "federated", *collect(2))
    again = ("invite", "study", "roads.csv", "--again", "--output", "1.invitation")
    assert ran(capsys, *again)["round"] == 1 and answer(capsys, "north", 1)["attempt"] == 2
    assert mdp.Ledger.open(here / "north.ledger").spent > 1


def test_refused_calls_leave_everything_as_it_was(here, capsys):
    begun(capsys)
    (here / "other.csv").write_text("from,to,length\n3,27,5\n")
    for asked, words in REFUSED.items():
        fails(capsys, words, f"federated {asked}")
