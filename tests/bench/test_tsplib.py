"""``metricdp bench tsplib``: costs against all choices, files as they come, one-line errors."""

import itertools
import json

import numpy as np
import pytest

from metricdp.bench import tsplib
from metricdp.errors import GraphFileError
from metricdp.universe.formats.tsplib import read_points
from tests import cases, refuses
from tests.cli_world import run, works

POINTS = np.random.default_rng(4).integers(0, 60, (14, 2)).astype(float)


def text(points, kind="EUC_2D"):
    nodes = "".join(f"{i + 1} {x:.1f} {y:e}\n" for i, (x, y) in enumerate(points))
    head = f"NAME : tiny14\nTYPE : TSP\nDIMENSION : {len(points)}\nEDGE_WEIGHT_TYPE : {kind}\n"
    return f"{head}NODE_COORD_SECTION\n{nodes}EOF\n"


def least(p):
    costs = np.array([[int(np.hypot(*(a - b))) for a in POINTS] for b in POINTS])
    choices = itertools.combinations(range(len(POINTS)), p)
    return int(min(costs[list(c)].min(axis=0).sum() for c in choices))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tiny14.tsp").write_text(text(POINTS))
    rows = "".join(f"tiny14,{p},{least(p)}\n" for p in (2, 3))
    (tmp_path / tsplib.TABLE).write_text("instance,p,opt_or_best_known\n" + rows)
    return tmp_path


def test_gaps_and_proofs_against_all_choices(folder, capsys):
    ran = run(capsys, "bench", "tsplib", str(folder), "--exact", "--effort", "thorough", "--json")
    assert (ran.status, ran.err) == (0, "")
    reported = json.loads(ran.out)
    assert [(row["p"], row["cost"]) for row in reported["rows"]] == [(2, least(2)), (3, least(3))]
    assert all(row["gap_percent"] == row["proven_percent"] == 0 for row in reported["rows"])
    assert reported["summary"]["at_best_known"] == reported["summary"]["proven_optimal"] == 2


def test_other_numbers_have_no_gap(folder, capsys, monkeypatch):
    monkeypatch.setenv("METRICDP_DATA", str(folder))
    ran = works(capsys, "bench", "tsplib", "-p", "4", "--effort", "0.1")
    assert "1 problems, a value is known of 0" in ran.out
    assert str(least(4)) in ran.out


@cases(
    ("options", "error"),
    (["--instances", "rl9"], "has no rl9.tsp"),
    (["-p", "3,x"], "-p must be whole numbers"),
    (["-p", "15"], "k must be"),
    (["--effort", "slow"], "effort must be"),
)
def test_bad_options_are_one_line(folder, capsys, options, error):
    ran = run(capsys, "bench", "tsplib", str(folder), *options)
    assert ran.status == 2
    assert error in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "broken", [text(POINTS, "GEO"), text(POINTS).replace(": 14", ": 15"), "no", text(POINTS)[:-60]]
)
def test_broken_files_are_refused(tmp_path, broken):
    path = tmp_path / "a.tsp"
    path.write_text(broken)
    refuses("", read_points, path, error=GraphFileError)
