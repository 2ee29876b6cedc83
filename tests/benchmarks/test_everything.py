"""``python -m benchmarks`` ``all``, ``paper3`` to ``paper5``, the public benchmark and its pages,
and holders of whom one is killed in each round.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricdp as mdp
from benchmarks import SUITES, everything, paper3, paper4, paper5
from benchmarks import private_graphs as suite
from benchmarks.everything import Run
from benchmarks.federated import World, kills
from benchmarks.frame.exhibits import Scale
from benchmarks.sets import exponential_grid, point_sets
from tests import grid_metric, loaded, refuses
from tests.benchmarks.running import measure
from tests.cli_world import run


def test_suites_are_all_there_and_parse_their_short_options():
    names = set(SUITES)
    assert {one.suite for one in everything._chosen(None)} == names
    parser = everything._parser()
    for one in everything.RUNS:
        parser.parse_args([one.suite, *one.full])
        parser.parse_args([one.suite, *one.short])
        parser.parse_args([one.suite, *one.middle])
    refuses("there is no suite 'pme'", everything._chosen, "pme")


def test_a_run_writes_the_report_and_names_what_is_left_out(here, monkeypatch, capsys):
    tiny = ("--sets", "gm-d2-k8", "--records", "300", "--repeats", "1", "-k", "3", "--methods")
    boxes = Run("paper1", "Boxes", (), (*tiny, "kmed++,uniform"))
    runs = (boxes, Run("tsplib", "Points", (), (str(here / "absent"),)))
    monkeypatch.setattr(everything, "RUNS", runs)
    command = ("all", "--short", "--folder", "out", "--suites", "paper1,tsplib", "--json")
    ran = measure(capsys, *command)
    assert ran.status == 0
    reported = json.loads(ran.out)
    assert [row["outcome"].split(":")[0] for row in reported["rows"]] == ["measured", "left out"]
    assert reported == json.loads(Path("out/report.json").read_text("utf-8"))
    assert re.search(r"<h2>Boxes</h2>.*uniform", Path("out/report.html").read_text("utf-8"), re.S)
    assert "## Points" in Path("out/report.md").read_text("utf-8")
    assert list(Path("out").glob("figures-*/*.png"))


def test_a_wrong_name_is_answered_with_all_names(capsys):
    ran = measure(capsys, "medoid")
    assert ran.status == 2 and "'pmed'" in ran.err and "did you mean medoids?" in ran.err


PAPERS = {"paper3": paper3, "paper4": paper4, "paper5": paper5}
SQUARE = mdp.EuclideanSpace([0, 0], [1, 1])


@pytest.mark.parametrize("suite", PAPERS)
def test_exhibits_are_named_once_and_every_size_has_cases(suite):
    keys = [each.key for each in PAPERS[suite].EXHIBITS]
    assert len(set(keys)) == len(keys)
    for each in PAPERS[suite].EXHIBITS:
        counts = [len(each.cases(Scale(size, 2, 0))) for size in ("quick", "middle", "full")]
        assert 0 < counts[0] <= counts[1] <= counts[2], each.key
        assert each.printed and each.differs and each.title


def test_each_suite_runs_from_the_command_line(capsys, monkeypatch, tmp_path):
    """The smallest exhibit of each, shrunk; that numbers are right is tested below."""
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    settings = [(2_000, 2, 2.0, (paper3.STOC, "published", "default"))]
    tiny = {
        "paper3": ("figure7", lambda scale: settings),
        "paper4": ("algorithm1", lambda scale: [(40, 2, 0.2)]),
        "paper5": ("figure1-k", lambda scale: [(2_000, 2, "8")]),
    }
    for name, (key, cases) in tiny.items():
        every = PAPERS[name].EXHIBITS
        small = tuple(replace(one, cases=cases) if one.key == key else one for one in every)
        monkeypatch.setattr(PAPERS[name], "EXHIBITS", small)
        asked = ("--quick", "--only", key, "--repeats", "1", "--plots", str(tmp_path))
        ran = measure(capsys, name, *asked)
        assert ran.status == 0, ran.err
        assert "the paper: " in ran.out and "differs: " in ran.out
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {"paper3_figure7.png", "paper5_figure1-k.png"}


@given(
    st.lists(st.tuples(*[st.floats(0, 1)] * 2), min_size=1, max_size=4),
    st.lists(st.tuples(*[st.floats(0, 1)] * 2), min_size=1, max_size=20),
)
def test_a_cell_of_the_exponential_grid_holds_its_points(centers, points):
    """Naively: the smallest box that holds a point, and the cell whose middle is near it."""
    at = np.array(centers)
    grid = exponential_grid.ExponentialGrid(SQUARE, at)
    middles = grid.middles()
    labels = grid.encode(np.array(points))
    assert labels.min() >= 0 and labels.max() < grid.n_parts
    cells = grid.n_parts // len(at)
    for point, label in zip(np.array(points), labels):
        center = at[label // cells]
        nearest = np.linalg.norm(at - point, axis=1).min()
        assert np.linalg.norm(center - point) == pytest.approx(nearest)
        away = np.abs(point - center).max()
        side = 2 * next(reach for reach in grid.reach if away <= reach) / exponential_grid.CELLS
        assert np.abs(point - middles[label]).max() <= side / 2 * (1 + 1e-9)


def test_the_other_coreset_spends_epsilon_and_weighs_everything():
    demand = mdp.PrivateDemand(SQUARE, point_sets.pickups(5_000, made_up=True))
    ledger = mdp.Ledger("1/2", neighboring="replace-one")
    places, weights = exponential_grid.coreset(SQUARE, demand, 3, "1/2", ledger)
    assert len(places) == len(weights) and (places >= 0).all() and (places <= 1).all()
    refuses("", ledger.charge, "1/1000", error=mdp.BudgetError)


def test_mixtures_are_the_papers():
    points = paper5.separated(3_000, 20, 3, 100.0, seed=1)
    for group in [points[i::3] for i in range(3)]:
        middle = group.mean(axis=0)
        assert np.linalg.norm(middle) == pytest.approx(0.99, abs=0.002)
        assert np.linalg.norm(group - middle, axis=1).mean() == pytest.approx(0.01, rel=0.05)
    assert paper5.objective(points, np.zeros((1, 20))) == pytest.approx(0.98, abs=0.01)


def test_a_holder_killed_in_each_round(here, monkeypatch, capsys):
    reported = []

    def done(world, *words):
        reported.append(capsys.readouterr().out)
        ran = run(capsys, "federated", *words, "--json", "-q")
        return ran.status, json.loads(ran.out.strip() or "{}"), ran.err.strip()

    monkeypatch.setattr(World, "done", done)  # what nobody kills runs in this process
    assert kills(here)
    reported = "".join([*reported, capsys.readouterr().out])
    assert reported.count("killed") >= 2 and "release: epsilon" in reported


@pytest.fixture(scope="module")
def instance():
    return suite.Instance(grid_metric(7, 7), 2_000, 1, 3)


def test_costs_are_those_of_the_definition(instance):
    centers = [(0, 0), (6, 6), (3, 3)]
    places = (instance.metric.ids[i] for i in instance.positions)
    naive = sum(min(abs(x - a) + abs(y - b) for a, b in centers) for x, y in places)
    assert instance.cost(centers) == naive
    assert instance.cost([*centers, (0, 0)]) == naive and instance.best <= naive


def test_every_method_answers_or_refuses(instance):
    """Without coordinates, methods of the plane refuse; all others are no better than the best that
    is known, and better than one corner.
    """
    for method in suite.METHODS:
        row = suite.one(instance, method, "1")
        plane = method in ("paper 1: quadtree", "paper 3: coreset")
        assert (row["ratio"] == "") == plane, method
        if not plane:
            assert 1 <= float(row["ratio"]) <= instance.cost([(0, 0)]) / instance.best


def test_the_page_has_the_table_of_the_csv():
    rows = suite.read()
    assert list(rows[0]) == list(suite.FIELDS)
    assert suite.table(rows) in suite.PAGE.read_text("utf-8")
    kinds = {(r["graph"], r["records"], r["seed"], r["epsilon"], r["method"]) for r in rows}
    per_graph = len(suite.RECORDS) * 2 * len(suite.EPSILONS) * len(suite.METHODS)
    assert len(rows) == len(kinds) == len({r["graph"] for r in rows}) * per_graph
    assert {r["graph"] for r in rows} >= set(suite.SAMPLES)
    assert all(r[name] for r in rows for name in ("python", *suite.VERSIONS))
    reported = [float(r["ratio"]) for r in rows if r["ratio"]]
    assert min(reported) > 0.98  # the best known is what a search found, no proof


ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    return loaded(ROOT / "benchmarks" / "which_method.py")


def test_a_table_is_put_between_its_own_marks(script):
    page = "<!-- a -->\n<!-- end -->\nkept\n<!-- b -->\n\nold\n\n<!-- end -->\n"
    once = script.placed(script.placed(page, "a", "A"), "b", "B")
    assert re.findall(r"^[A-Zk]\w*$", once, re.M) == ["A", "kept", "B"]
    assert script.placed(once, "b", "B") == once
    refuses("no marks", script.placed, page, "c", "C", error=AssertionError)


def test_the_page_has_a_row_for_every_setting(script):
    page = script.PAGE.read_text("utf-8")
    cases = (script.FINITE_UNIVERSES, script.FINITE), (script.DIMENSIONS, script.BOX)
    for names, methods in cases:
        starts = tuple(f"| {n}" for n in names)
        rows = [line for line in page.splitlines() if line.startswith(starts)]
        assert len(rows) == len(names) * len(script.RECORDS) * len(script.EPSILONS)
        assert all(row.count("|") == len(methods) + 4 for row in rows)
        assert all("**" in row for row in rows)
