"""Private coresets: what they hold, what is saved, what is refused."""

import json

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import MissingExtraError
from metricdp.solvers.lloyd import condensed
from tests import grid_metric, refuses
from tests.methods.spending import cost

PLANE = mdp.EuclideanSpace([0, 0], [1, 1])


def clusters(n=20_000, k=4, seed=0, spread=0.02):
    rng = np.random.default_rng(seed)
    middle = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8], [0.15, 0.75]])[:k]
    return np.clip(middle[rng.integers(k, size=n)] + spread * rng.normal(size=(n, 2)), 0, 1), middle


# The method


@pytest.mark.parametrize("d", [3, 4])
def test_more_dimensions(d):
    rng = np.random.default_rng(d)
    space = mdp.EuclideanSpace([0.0] * d, [1.0] * d)
    demand = mdp.PrivateDemand(space, np.clip(rng.normal(0.3, 0.03, (3000, d)), 0, 1))
    result = mdp.k_means(space, demand, 1, epsilon=20, delta=1e-6, method="coreset")
    assert np.linalg.norm(result.centers[0] - 0.3) < 0.15


def test_the_default_is_close_to_the_best():
    points, middle = clusters(spread=0.05)
    demand = mdp.PrivateDemand(PLANE, points)
    found = mdp.k_means(PLANE, demand, 4, epsilon=0.5, delta=1e-6, method="coreset").centers
    assert cost(points, found, 2) < 1.05 * cost(points, middle, 2)


# What is released


def test_a_small_coreset_costs_nothing_and_keeps_costs():
    points, _ = clusters(50_000, spread=0.05)
    ledger = mdp.Ledger(1)
    release = mdp.release(PLANE, mdp.PrivateDemand(PLANE, points), epsilon=1, ledger=ledger)
    full, small = release.coreset(), release.coreset(5)
    assert ledger.spent == 1 and len(small.weights) < 100 < len(full.weights)
    assert (small.weights > 0).all()
    assert small.weights.sum() == pytest.approx(full.weights.sum())
    rng = np.random.default_rng(0)
    for _ in range(20):
        centers = rng.random((5, 2))
        true = cost(points, centers, 2)
        for points_of, weights in (full, small):
            away = ((np.asarray(points_of)[:, None] - centers) ** 2).sum(axis=2)
            reported = weights @ away.min(axis=1)
            assert abs(reported / true - 1) < 0.15
    few = condensed(np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]), np.array([1.0, 0.0, 3.0]), 2)
    assert few[0].tolist() == [[0, 0], [0.5, 0.5]] and few[1].tolist() == [1, 3]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_points_are_condensed_to_means_of_what_is_near(d):
    rng = np.random.default_rng(d)
    points, weights = rng.normal(size=(2000, d)), rng.random(2000) - 0.2
    held = weights > 0
    few, amounts = condensed(points, weights, 70)
    assert few.shape == (70, d) and (amounts > 0).all()
    assert amounts.sum() == pytest.approx(weights[held].sum())
    assert amounts @ few == pytest.approx(weights[held] @ points[held])
    for power in (1, 2):
        for _ in range(5):
            centers = rng.normal(size=(5, d))
            costs = [
                weight @ np.linalg.norm(where[:, None] - centers, axis=2).min(axis=1) ** power
                for where, weight in ((points[held], weights[held]), (few, amounts))
            ]
            # means are nearer to the centers than their points, the more dimensions the more
            assert -0.25 < costs[1] / costs[0] - 1 < 0.02
    one = condensed(np.zeros((300, d)), np.ones(300), 70)
    assert one[0].tolist() == [[0.0] * d] and one[1].tolist() == [300.0]


def test_the_default_coreset_holds_lone_records_too():
    """A tenth of the records alone in wide cells: they cost most, and few cells of theirs stand
    out.
    """
    points, middle = clusters(20_000)
    points[::10] = np.random.default_rng(1).random((2000, 2))
    demand = mdp.PrivateDemand(PLANE, points)
    results = [mdp.k_means(PLANE, demand, 4, epsilon=0.2, method="coreset") for _ in range(8)]
    wholes = [result.release for result in results]

    for centers in (middle, middle + 0.05):
        true = cost(points, centers, 2)
        away = [((one.universe.points[:, None] - centers) ** 2).sum(axis=2) for one in wholes]
        reported = [square.min(axis=1) @ one.weights for square, one in zip(away, wholes)]
        # 100 runs: .07 (sd .07) and .04 (.04) less than the truth
        assert abs(np.mean(reported) / true - 1) < 0.25
    assert abs(wholes[0].coreset().weights.sum() - 20_000) < 2000


def test_coresets_of_a_graph_are_saved(tmp_path):
    metric = grid_metric(4, 4, step=1.0, crs="EPSG:4326")
    demand = mdp.PrivateDemand(metric, [(0, 0)] * 300 + [(3, 3)] * 200)
    release = mdp.release(metric, demand, epsilon=1)
    coreset = release.coreset()
    ids, weights = coreset
    assert set(ids) <= set(metric.ids)
    assert weights.tolist() == release.weights[release.weights > 0].tolist()
    for name in ("core.csv", "core.geojson"):
        coreset.save(tmp_path / name)
    rows = (tmp_path / "core.csv").read_text().splitlines()
    assert rows[0] == "vertex,weight"
    assert [float(r.split(",")[-1]) for r in rows[1:]] == weights.tolist()
    features = json.loads((tmp_path / "core.geojson").read_text())["features"]
    assert [tuple(f["properties"]["vertex"]) for f in features] == ids
    assert features[0]["geometry"]["type"] == "Point"
    assert [tuple(f["geometry"]["coordinates"]) for f in features] == ids
    refuses("needs a box", release.coreset, 3)


def test_coresets_of_a_box_are_saved(tmp_path):
    demand = mdp.PrivateDemand(PLANE, clusters(2000)[0])
    coreset = mdp.k_means(PLANE, demand, 4, epsilon=1, method="coreset").release.coreset()
    coreset.save(tmp_path / "core.CSV")
    read = np.loadtxt(tmp_path / "core.CSV", delimiter=",", skiprows=1)
    assert (read == np.column_stack([coreset.points, coreset.weights])).all()
    refuses("longitude and latitude", coreset.save, tmp_path / "core.geojson")
    places = mdp.EuclideanSpace([0, 0], [1, 1], crs="EPSG:4326")
    demand = mdp.PrivateDemand(places, clusters(2000)[0])
    coreset = mdp.release(places, demand, epsilon=1).coreset()
    coreset.save(str(tmp_path / "core.geojson"))
    features = json.loads((tmp_path / "core.geojson").read_text())["features"]
    assert [f["geometry"]["coordinates"] for f in features] == coreset.points.tolist()


def test_what_cannot_be_saved_leaves_nothing(tmp_path, monkeypatch):
    metric = grid_metric(4, 4)
    coreset = mdp.release(metric, mdp.PrivateDemand(metric, [(0, 0)] * 300), epsilon=1).coreset()
    refuses("coordinates", coreset.save, tmp_path / "core.geojson")
    refuses("must be one of .csv", coreset.save, tmp_path / "core.txt")
    monkeypatch.setattr("metricdp.errors.find_spec", lambda name: None)
    refuses("parquet", coreset.save, tmp_path / "core.parquet", error=MissingExtraError)
    refuses("", coreset.save, tmp_path / "nowhere" / "core.csv", error=OSError)
    assert not list(tmp_path.iterdir())


def test_the_coreset_of_people_of_one_unit_each_weighs_as_many_as_they_are():
    """Cells that stand out were divided twice by a unit's weight units."""
    points = np.repeat([[0.2, 0.2], [0.8, 0.7]], 2000, axis=0)
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    demand = mdp.PrivateDemand(space, points, user=np.repeat(np.arange(2000), 2), weighting="share")
    release = mdp.k_means(space, demand, k=2, epsilon=4, method="coreset").release
    assert release.receipt.grains > 1 and release.weights.sum() == pytest.approx(2000, rel=0.1)


@pytest.mark.parametrize("method", ["partition", "coreset", "quadtree"])
def test_means_that_a_release_answers_are_means(method):
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    demand = mdp.PrivateDemand(space, np.repeat([[0.2, 0.2], [0.8, 0.7]], 2000, axis=0))
    release = mdp.k_means(space, demand, k=2, epsilon=4, method=method).release
    assert (release.k_median(2).power, release.k_means(2).power) == (1, 2)
