"""``python -m benchmarks paper3``, ``paper4`` and ``paper5``: exhibits, their data, tiny runs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricdp as mdp
from benchmarks import paper3, paper4, paper5
from benchmarks.frame.exhibits import Scale
from benchmarks.sets import exponential_grid, point_sets
from tests import refuses
from tests.benchmarks.running import measure

SUITES = {"paper3": paper3.EXHIBITS, "paper4": paper4.EXHIBITS, "paper5": paper5.EXHIBITS}
SQUARE = mdp.EuclideanSpace([0, 0], [1, 1])


@pytest.mark.parametrize("suite", SUITES)
def test_exhibits_are_named_once_and_every_size_has_cases(suite):
    keys = [each.key for each in SUITES[suite]]
    assert len(set(keys)) == len(keys)
    for each in SUITES[suite]:
        counts = [len(each.cases(Scale(size, 2, 0))) for size in ("quick", "middle", "full")]
        assert 0 < counts[0] <= counts[1] <= counts[2], each.key
        assert each.printed and each.differs and each.title


def test_each_suite_runs_from_the_command_line(capsys, monkeypatch, tmp_path):
    """The smallest exhibit of each, shrunk; that numbers are right is tested below."""
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    tiny = {
        "paper3": (
            "figure7",
            lambda scale: [(2_000, 2, 2.0, (paper3.STOC, "published", "default"))],
        ),
        "paper4": ("algorithm1", lambda scale: [(40, 2, 0.2)]),
        "paper5": ("figure1-k", lambda scale: [(2_000, 2, "8")]),
    }
    for name, (key, cases) in tiny.items():
        module = {"paper3": paper3, "paper4": paper4, "paper5": paper5}[name]
        small = tuple(
            replace(each, cases=cases) if each.key == key else each for each in module.EXHIBITS
        )
        monkeypatch.setattr(module, "EXHIBITS", small)
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
