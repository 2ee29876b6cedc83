"""``--effort`` and ``--exact`` of ``metricdp cluster``."""

import json

import pytest

from tests import cases
from tests.cli_world import build_road, fails, works


@pytest.fixture
def line(here):
    build_road(here, 29, ["3"] * 400)


@pytest.mark.parametrize("how", ["quick", "thorough", "0.3"])
def test_the_best_centers_are_proven(line, capsys, how):
    ran = works(capsys, "cluster", "roads.csv", "-k", "10", "--exact", "--effort", how)
    assert "proven optimal" in ran.err
    assert json.loads(ran.out)["certificate"] == {"cost": 2e3, "lower_bound": 2e3, "gap": 0.0}


def test_private_demand_takes_effort_and_refuses_proofs(line, capsys):
    asked = ["cluster", "roads.csv", "-k", "1", "--demand", "homes.csv", "--epsilon", "1"]
    ran = works(capsys, *asked, "--effort", "thorough", "-q")
    assert json.loads(ran.out)["centers"] == [3]
    fails(capsys, "--exact tells the exact cost", *asked, "--exact")


@cases(
    ("options", "error"),
    (["--effort", "slow"], "must be quick, thorough or a number of seconds"),
    (["--effort", "thorough", "--objective", "p-center"], "--effort is for k-median"),
    (["--exact", "--objective", "p-center"], "--exact is for k-median"),
)
def test_misuse_is_one_line(line, capsys, options, error):
    fails(capsys, error, "cluster", "roads.csv", "-k", "2", *options)
