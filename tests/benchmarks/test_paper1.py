"""``python -m benchmarks paper1`` and ``peers``: sets of points, arithmetic of the tables, and
tiny runs of the whole.
"""

import json
import math
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from benchmarks import paper1, peers
from benchmarks.frame import costs
from benchmarks.sets import point_sets

FAST = tuple(m for m in paper1.METHODS if m not in ("quadtree", "uniform"))


# sets of points


def test_mixtures_are_those_that_figures_speak_of():
    """The first rows of the generator that published figures were measured with."""
    for name, d, k, std in (("gm-d2-k20", 2, 20, 0.05), ("gw-d10-k8", 10, 8, 0.15)):
        rng = np.random.default_rng(7)
        centers = rng.normal(size=(k, d))
        centers *= (
            0.8 * rng.random((k, 1)) ** (1 / d) / np.linalg.norm(centers, axis=1, keepdims=True)
        )
        which = rng.choice(k, size=100_000, p=rng.dirichlet(np.full(k, 5.0)))
        points = centers[which] + std * rng.normal(size=(100_000, d))
        long = np.linalg.norm(points, axis=1, keepdims=True)
        assert np.allclose(point_sets.POINT_SETS[name].load(), points / np.maximum(long, 1))


# arithmetic


def test_the_reference_is_the_best_that_is_known():
    place = {"setting": "s1/1", "k": 3, "reference": 10.0, "seconds": 1.0}
    costs = [("kmed++", 12.0), ("kmed++", 8.0), ("HST", 16.0), ("HST", 4.0)]
    draws = [{**place, "method": m, "repeat": i % 2, "final": c} for i, (m, c) in enumerate(costs)]
    report = paper1.report({"epsilons": ["1"], "power": 1}, draws, ["why"], "", 1.0)
    by_method = {row["method"]: row for row in report.rows}
    assert by_method["kmed++"]["ratios"]["final"] == pytest.approx((1.25, 0.25))
    # private runs are no reference
    assert by_method["HST"]["ratios"]["final"] == pytest.approx((1.25, 0.75))
    assert report.summary["mean_ratio"] == {"s1/1": {"kmed++": 1.25, "HST": 1.25}}
    assert "why" in report.lines


# the whole


@pytest.fixture(scope="module")
def tiny():
    asked = {"repeats": 2, "records": 300, "epsilons": "1/2,5", "methods": ",".join(FAST)}
    return paper1.run("gm-d2-k8", k=[2, 3], **asked)


def test_every_method_answers_every_cell(tiny):
    found = [row["method"] for row in tiny.rows if (row["setting"], row["k"]) == ("gm-d2-k8/5", 3)]
    assert found == list(FAST)
    assert len(tiny.rows) == 2 * 2 * len(FAST) and not tiny.unfinished
    for row in tiny.rows:
        assert len(row["costs"]["final"]) == 2 == len(row["seconds"]) and row["cpu"] >= 0
        assert row["ratios"]["final"][0] > 0.97 and math.isfinite(row["ratios"]["final"][0])
    rows = [row for row in tiny.rows if row["method"] == "kmed++"]
    own = {(row["setting"], row["k"]): row["ratios"]["final"][0] for row in rows}
    assert all(value < 1.6 for value in own.values())


def test_names_stand_for_the_methods_of_the_paper():
    world = paper1.World.of("gm-d2-k8", 300, 0)
    assert world.radius == 1.0 and world.method("lsh") == mdp.methods.LSHCoreset(radius=1.0)
    assert world.method("partition") == "partition"
    cell = paper1.Cell("gm-d2-k8", 3, "1000", 0)
    plan = paper1.Plan("1e-6", 2, 0, 300, paper1.METHODS)
    least = world.reference(3, 2, 0)
    for method in ("HST", "HST-tree", "lsh", "lloyd", "k-variates", "balcan", "partition"):
        most = {"partition": 1.1, "balcan": 2.5, "HST": 2.5, "HST-tree": 3}.get(method, 12)
        assert world.cost(world.answered(method, cell, plan), 2) < most * least, method


# peers

FAKE = """#!{python}
import json, sys
request = json.loads(open(sys.argv[2]).read())
if request["peer"] is None:
    reported = {{"google": {{"there": False, "reason": "gone"}}}}
    reported["diffprivlib"] = {{"there": True, "version": "9"}}
elif request["epsilon"] > 1:
    reported = {{"failed": "ValueError: no"}}
else:
    assert request["radius"] == 1 and request["low"] == -1
    assert request["delta"] == 1e-6 and request["k"] == 8
    reported = {{"centers": [[0.1 * i, 0] for i in range(8)], "seconds": 0.5}}
print("noise of a library")
print(json.dumps(reported))
"""


@pytest.fixture
def python(tmp_path: Path) -> str:
    """A Python in which one peer is there."""
    pytest.importorskip("sklearn", reason="needs the extra: sklearn")
    path = tmp_path / "python"
    path.write_text(FAKE.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_peers_run_in_their_own_python_and_absent_ones_are_named(python):
    asked = {"repeats": 1, "epsilons": "1/2,2", "records": 300, "methods": "lsh,google,diffprivlib"}
    report = peers.run("gm-d2-k8", **asked, peer_python=python)
    reported = {(row["setting"], row["method"]): row for row in report.rows}
    points = point_sets.POINT_SETS["gm-d2-k8"].load(300)
    here = reported["gm-d2-k8/1/2", "diffprivlib"]
    expected = [pytest.approx(costs.cost(points, np.c_[0.1 * np.arange(8), np.zeros(8)], 2))]
    assert here["costs"]["final"] == expected and here["seconds"] == [0.5]
    assert reported["gm-d2-k8/1/2", "sklearn"]["ratios"]["final"][0] >= 1 - 1e-9
    assert reported["gm-d2-k8/2", "google"]["absent"] == "gone"
    assert ("gm-d2-k8/2", "diffprivlib") not in reported
    assert "diffprivlib failed on gm-d2-k8/2: ValueError: no" in report.lines
    gone = [line for line in report.lines if "absent (gone)" in line]
    assert any(line.startswith("google's LSH coreset") for line in gone)
    table = report.table()
    assert table.count("absent") >= 4 and "OpenDP's k-means: absent" in table
    assert "\n" in report.table()
    json.dumps(report.to_dict())
