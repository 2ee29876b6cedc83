"""Synthetic points: drawn by weight, each as often as it should be, in the user's own ids."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.methods.demand_release import drawn, nearby
from tests import grid_metric, refuses
from tests.cli_world import build_road, fails, run

TOWN = grid_metric(9, 9)


@pytest.fixture(scope="module")
def release():
    return mdp.release(TOWN, mdp.PrivateDemand(TOWN, [(1, 1)] * 3000 + [(7, 6)] * 5000), epsilon=1)


@settings(max_examples=40)
@given(
    st.lists(st.integers(-2, 9), min_size=25, max_size=25), st.integers(1, 60), st.integers(0, 9)
)
def test_each_point_is_drawn_as_often_as_its_weight_says_up_to_one(weights, n, seed):
    metric = mdp.EuclideanMetric(np.indices((5, 5)).reshape(2, -1).T.astype(float))
    held = np.array(weights, float)
    at = drawn(metric, held, n, np.random.default_rng(seed))
    share = np.maximum(held, 0) if (held > 0).any() else np.ones(25)
    expected = n * share / share.sum()
    counts = np.bincount(at, minlength=25)
    assert len(at) == n
    assert (np.abs(counts - expected) < 1 + 1e-9).all()


def test_the_order_holds_every_point_once_and_neighbors_together():
    metric = mdp.EuclideanMetric(np.random.default_rng(1).random((2500, 2)))
    order = nearby(metric)
    assert (np.sort(order) == np.arange(2500)).all()
    points = metric.points[order]
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).mean() < 0.1  # 0.52 in random order


def test_points_are_ids_with_coordinates_and_lie_where_demand_is(release):
    points = release.sample(800, seed=3)
    assert len(points) == 800 and set(points) <= set(TOWN.ids)
    assert 0.33 < sum(point == (1, 1) for point in points) / 800 < 0.4
    assert list(points) == list(release.sample(800, seed=3))
    assert points.receipt is release.receipt
    mdp.PrivateDemand(TOWN, list(points))


def test_a_box_draws_points_of_its_cells(tmp_path):
    space = mdp.EuclideanSpace([0, 0], [10, 10])
    records = np.random.default_rng(0).normal([3, 6], 1, (20_000, 2))
    release = mdp.release(space, mdp.PrivateDemand(space, records), epsilon=1)
    points = np.asarray(release.sample(2000))
    assert points.shape == (2000, 2) and len(np.unique(points, axis=0)) == 2000
    assert np.abs(points.mean(axis=0) - [3, 6]).max() < 0.2
    release.sample(5).save(tmp_path / "points.csv")
    assert (tmp_path / "points.csv").read_text().splitlines()[0] == "x,y"
    release.save(tmp_path / "a.release")
    assert len(mdp.Release.load(tmp_path / "a.release", space).sample(7)) == 7


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "7", 10**9])
def test_numbers_that_are_none_are_refused(release, n):
    refuses("number of points", release.sample, n)


def test_bad_seeds_and_endings_are_refused(release, tmp_path):
    refuses("seed", release.sample, 3, seed=-1)
    refuses("ending", lambda: release.sample(3).save(tmp_path / "points.xlsx"))
    refuses("coordinates", lambda: release.sample(3).save(tmp_path / "points.geojson"))
    assert not list(tmp_path.iterdir())


def test_geoparquet_is_read_by_geopandas(tmp_path):
    geopandas = pytest.importorskip("geopandas")
    metric = mdp.HaversineMetric([[-71.3, -29.9], [-71.2, -29.8], [-71.1, -29.7]], ids=[4, 5, 6])
    points = mdp.release(metric, mdp.PrivateDemand(metric, [5] * 10_000), epsilon=1).sample(6)
    points.save(tmp_path / "points.parquet")
    frame = geopandas.read_parquet(tmp_path / "points.parquet")
    assert frame["vertex"].tolist() == [5] * 6
    assert (frame.geometry.x == frame["lon"]).all() and frame.geometry.y[0] == -29.8


def test_the_command_writes_points_and_pays_nothing(here, capsys):
    build_road(here, 30, ["7"] * 9000)
    nodes = [f"{i},{-71 + i / 100},{-30}" for i in range(31)]
    (here / "nodes.csv").write_text("id,lon,lat\n" + "\n".join(nodes) + "\n")
    graph = ("roads.csv", "--nodes", "nodes.csv")
    paid = ("--demand", "homes.csv", "--epsilon", "1", "--save-release", "homes.release")
    assert run(capsys, "cluster", *graph, "-k", "1", *paid).status == 0
    ask = ("synthesize", *graph, "--from-release", "homes.release", "-n", "12")
    reported = run(capsys, *ask).json
    assert reported["points"] == [7] * 12 and reported["receipt"]["epsilon"] == 1
    ran = run(capsys, *ask, "--output", "points.geojson")
    assert ran.status == 0 and "points" not in ran.json and "wrote" in ran.err
    features = json.loads((here / "points.geojson").read_text())["features"]
    assert len(features) == 12 and features[0]["properties"] == {"vertex": 7}
    assert features[0]["geometry"]["coordinates"] == [-70.93, -30]
    fails(capsys, "ending", *ask, "--output", "points.xyz")
    fails(capsys, "same file", *ask, "--output", "homes.release")


def test_points_of_a_table_of_costs_are_clients():
    clients = [f"client {i}" for i in range(30)]
    table = mdp.CostTable(np.arange(60.0).reshape(2, 30) % 7 + 1, sites=["a", "b"], clients=clients)
    release = mdp.release(table, mdp.PrivateDemand(table, clients * 40), epsilon=2)
    assert set(release.sample(50)) <= set(clients)
    assert set(release.coreset().points) <= set(clients) and release.interval(["a"]).low > 0
    refuses("points of the universe", release.summary, ["a"], stability=True)
