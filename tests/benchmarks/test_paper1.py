"""``python -m benchmarks paper1`` and ``peers``: sets of points, arithmetic of the tables, and
tiny runs of the whole.
"""

import gzip
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


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Made-up files in the formats of the real ones."""
    rng = np.random.default_rng(0)
    (tmp_path / "points/sipu").mkdir(parents=True)
    (tmp_path / "uci").mkdir()
    np.savetxt(
        tmp_path / "points/sipu/s1.data", rng.integers(0, 10**6, (50, 2)), "%d", delimiter="   "
    )
    with gzip.open(tmp_path / "uci/Skin_NonSkin.txt.gz", "wt") as file:
        file.write(
            "r,g,b,skin\n"
            + "".join(f"{a},{b},{c},1\n" for a, b, c in rng.integers(0, 256, (60, 3)))
        )
    for name, n in (("shuttle.trn", 30), ("shuttle.tst", 20)):
        rows = rng.integers(-2000, 2000, (n, 9))
        (tmp_path / "uci" / name).write_text(
            "".join(",".join(map(str, row)) + ",Rad Flow\n" for row in rows)
        )
    rows = np.c_[
        rng.uniform(0, 255, (40, 10)), rng.integers(0, 2, (40, 44)), rng.integers(1, 8, 40)
    ]
    np.savetxt(tmp_path / "covtype.data", rows, "%g", delimiter=",")
    np.savetxt(
        tmp_path / "uci/HIGGS.csv", np.c_[np.ones(900), rng.normal(size=(900, 28))], delimiter=","
    )
    monkeypatch.setenv("METRICDP_DATA", str(tmp_path))
    return tmp_path


# sets of points


def test_sets_are_read_wherever_they_lie(data):
    shapes = {"s1": (50, 2), "skin": (60, 3), "shuttle": (50, 9)}
    shapes |= {"covertype": (40, 54), "higgs": (900, 28)}
    for name, shape in shapes.items():
        found = point_sets.POINT_SETS[name]
        points = found.load()
        assert points.shape == shape
        assert found.bounds[0] <= points.min() < points.max() <= found.bounds[1]
    assert point_sets.POINT_SETS["skin"].load()[0] * 255 == pytest.approx(_skin(data))
    some = point_sets.POINT_SETS["higgs"].load(20, seed=3)
    assert some.shape == (20, 28)
    expected = {tuple(row) for row in point_sets.POINT_SETS["higgs"].load()[:400]}
    assert {tuple(row) for row in some} <= expected
    assert not np.array_equal(some, point_sets.POINT_SETS["higgs"].load(20, seed=4))


def _skin(data: Path) -> np.ndarray:
    with gzip.open(data / "uci/Skin_NonSkin.txt.gz", "rt") as file:
        return np.array([float(v) for v in file.read().splitlines()[1].split(",")[:3]])


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
    draws = [
        {**place, "method": m, "repeat": i, "final": cost}
        for m, of in (("kmed++", (12.0, 8.0)), ("HST", (16.0, 4.0)))
        for i, cost in enumerate(of)
    ]
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
    return paper1.run(
        "gm-d2-k8", k=[2, 3], repeats=2, records=300, epsilons="1/2,5", methods=",".join(FAST)
    )


def test_every_method_answers_every_cell(tiny):
    found = [row["method"] for row in tiny.rows if (row["setting"], row["k"]) == ("gm-d2-k8/5", 3)]
    assert found == list(FAST)
    assert len(tiny.rows) == 2 * 2 * len(FAST) and not tiny.unfinished
    for row in tiny.rows:
        assert len(row["costs"]["final"]) == 2 == len(row["seconds"]) and row["cpu"] >= 0
        assert row["ratios"]["final"][0] > 0.97 and math.isfinite(row["ratios"]["final"][0])
    own = {
        (row["setting"], row["k"]): row["ratios"]["final"][0]
        for row in tiny.rows
        if row["method"] == "kmed++"
    }
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
    report = peers.run(
        "gm-d2-k8",
        repeats=1,
        epsilons="1/2,2",
        records=300,
        methods="lsh,google,diffprivlib",
        peer_python=python,
    )
    reported = {(row["setting"], row["method"]): row for row in report.rows}
    points = point_sets.POINT_SETS["gm-d2-k8"].load(300)
    here = reported["gm-d2-k8/1/2", "diffprivlib"]
    expected = [pytest.approx(costs.cost(points, np.c_[0.1 * np.arange(8), np.zeros(8)], 2))]
    assert here["costs"]["final"] == expected
    assert here["seconds"] == [0.5]
    assert reported["gm-d2-k8/1/2", "sklearn"]["ratios"]["final"][0] >= 1 - 1e-9
    assert reported["gm-d2-k8/2", "google"]["absent"] == "gone"
    assert ("gm-d2-k8/2", "diffprivlib") not in reported
    assert "diffprivlib failed on gm-d2-k8/2: ValueError: no" in report.lines
    assert any(
        line.startswith("google's LSH coreset") and "absent (gone)" in line for line in report.lines
    )
    table = report.table()
    assert table.count("absent") >= 4 and "OpenDP's k-means: absent" in table
    assert "\n" in report.table()
    json.dumps(report.to_dict())
