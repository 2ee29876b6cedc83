"""``metricdp cluster``: candidates, opened facilities, a time limit and a certificate."""

from pathlib import Path

import pytest

from tests import cases
from tests.cli_world import build_road, fails, run, works

PRIVATE = ["cluster", "roads.csv", "-k", "3", "--demand", "homes.csv", "--epsilon", "1"]


def test_candidates_and_opened_facilities(world, capsys):
    Path("few.csv").write_text("name,vertex\na,100\nb,103\nc,112\nd,120\n")
    Path("open.csv").write_text("124\n")
    for words in ("", "--demand homes.csv --epsilon 1", "--demand homes.csv --non-private"):
        asked = "cluster roads.csv -k 3 --candidates few.csv --opened open.csv"
        found = run(capsys, asked, *words.split()).json
        assert found["centers"][0] == 124 and len(set(found["centers"])) == 3
        assert set(found["centers"][1:]) <= {100, 103, 112, 120}


def test_a_certificate(world, capsys):
    ran = run(capsys, "cluster", "roads.csv", "-k", "3", "--certificate")
    found = ran.json
    assert found["certificate"]["gap"] == 0
    assert found["certificate"]["cost"] == found["certificate"]["lower_bound"] > 0
    assert "proven optimal" in ran.err
    assert "certificate" not in run(capsys, "cluster", "roads.csv", "-k", "3").json
    plain = ["cluster", "roads.csv", "-k", "3", "--demand", "homes.csv", "--non-private"]
    assert run(capsys, *plain, "--certificate").json["certificate"]["gap"] < 1e-5


def test_a_time_limit(world, capsys):
    for asked in (["cluster roads.csv -k 3"], PRIVATE):
        assert len(run(capsys, *asked, "--time-limit", "0.5").json["centers"]) == 3


@cases(
    ("options", "message"),
    (["--certificate"], "--certificate tells the exact cost"),
    (["--time-limit", "0"], "must be a positive number"),
    (["--opened", "two.csv"], "needs a column 'vertex'"),
    (["--opened", "open.csv", "-k", "1"], "at least their number, 2"),
    (["--candidates", "open.csv"], "number of candidates"),
    (["--candidates", "nobody.csv"], "has the id 'nobody'"),
    (["--candidates", "nowhere.csv"], "no such file"),
    (["--opened", "open.csv", "--output", "open.csv"], "same file"),
)
def test_refused_before_anything_is_charged(options, message, world, capsys):
    Path("open.csv").write_text("vertex\n100\n101\n")
    Path("two.csv").write_text("a,b\n100,101\n")
    Path("nobody.csv").write_text("vertex\n100\nnobody\n")
    fails(capsys, message, *PRIVATE, "--ledger", "new.ledger", *options)


# ``--effort`` and ``--exact`` of ``metricdp cluster``


@pytest.fixture
def line(here):
    build_road(here, 29, ["3"] * 400)


@pytest.mark.parametrize("how", ["quick", "thorough", "0.3"])
def test_the_best_centers_are_proven(line, capsys, how):
    ran = works(capsys, "cluster", "roads.csv", "-k", "10", "--exact", "--effort", how)
    assert "proven optimal" in ran.err
    assert ran.json["certificate"] == {"cost": 2e3, "lower_bound": 2e3, "gap": 0.0}


def test_private_demand_takes_effort_and_refuses_proofs(line, capsys):
    asked = ["cluster", "roads.csv", "-k", "1", "--demand", "homes.csv", "--epsilon", "1"]
    assert works(capsys, *asked, "--effort", "thorough", "-q").json["centers"] == [3]
    fails(capsys, "--exact tells the exact cost", *asked, "--exact")


@cases(
    ("options", "error"),
    (["--effort", "slow"], "must be quick, thorough or a number of seconds"),
    (["--effort", "thorough", "--objective", "p-center"], "--effort is for k-median"),
    (["--exact", "--objective", "p-center"], "--exact is for k-median"),
)
def test_misuse_is_one_line(line, capsys, options, error):
    fails(capsys, error, "cluster", "roads.csv", "-k", "2", *options)
