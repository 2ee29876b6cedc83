"""``--effort`` and ``--exact`` of ``metricdp cluster``."""

import json

import pytest

from tests import cases
from tests.cli_world import run, works


@pytest.fixture
def line(here):
    edges = "".join(f"{i},{i + 1},1\n" for i in range(29))
    (here / "line.csv").write_text("from,to,length\n" + edges)
    (here / "homes.csv").write_text("vertex\n" + "3\n" * 400)
    return here


@pytest.mark.parametrize("how", ["quick", "thorough", "0.3"])
def test_the_best_centers_are_proven(line, capsys, how):
    ran = works(capsys, "cluster", "line.csv", "-k", "10", "--exact", "--effort", how)
    assert "proven optimal" in ran.err
    assert json.loads(ran.out)["certificate"] == {"cost": 20.0, "lower_bound": 20.0, "gap": 0.0}


def test_private_demand_takes_effort_and_refuses_proofs(line, capsys):
    asked = ["cluster", "line.csv", "-k", "1", "--demand", "homes.csv", "--epsilon", "1"]
    ran = works(capsys, *asked, "--effort", "thorough", "-q")
    assert json.loads(ran.out)["centers"] == [3]
    ran = run(capsys, *asked, "--exact")
    assert ran.status == 2
    assert "--exact tells the exact cost" in ran.err


@cases(
    ("options", "error"),
    (["--effort", "slow"], "must be quick, thorough or a number of seconds"),
    (["--effort", "thorough", "--objective", "p-center"], "--effort is for k-median"),
    (["--exact", "--objective", "p-center"], "--exact is for k-median"),
)
def test_misuse_is_one_line(line, capsys, options, error):
    ran = run(capsys, "cluster", "line.csv", "-k", "2", *options)
    assert ran.status == 2
    assert error in ran.err
