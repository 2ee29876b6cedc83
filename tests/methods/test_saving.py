"""Releases on disk, the same in another session, and synthetic points drawn from them."""

import json
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.methods.demand_release import drawn, nearby
from tests import cases, grid_metric, named, refuses, tries
from tests.cli_world import build_road, fails, run

TOWN = grid_metric(9, 9)


@pytest.fixture(scope="module")
def release():
    demand = mdp.PrivateDemand(TOWN, [(1, 1)] * 3000 + [(7, 6)] * 5000)
    return mdp.release(TOWN, demand, epsilon=1)


def test_every_save_returns_the_path_and_follows_links(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = release.k_median(k=2)
    cards = [mdp.federated.Holder(mdp.PrivateDemand(TOWN, []), name=name).card for name in "ab"]
    study = mdp.federated.Coordinator(TOWN, cards, epsilon=1, delta=1e-6)
    one = (release, release.coreset(), release.sample(5), plan, mdp.evidence(plan), study)
    one += (mdp.heatmap(release, bandwidth=3), plan.bands([2]), mdp.build_hst(TOWN))
    for made, ending in zip(one, "release csv csv csv json study csv html npz".split()):
        Path(f"link.{ending}").symlink_to(f"real.{ending}")
        assert made.save(f"link.{ending}") == Path(f"link.{ending}")
        assert Path(f"link.{ending}").is_symlink() and Path(f"real.{ending}").stat().st_size
        Path(f"link.{ending}").unlink()
        Path(f"real.{ending}").unlink()


def test_a_folder_is_no_file(release, tmp_path):
    for made in (release, mdp.build_hst(TOWN)):
        for folder in (tmp_path, "/", "."):
            refuses("", made.save, folder, error=OSError)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["partition", "hst", "max-coverage"])
def test_the_same_answers_and_receipt(tmp_path, method):
    demand = mdp.PrivateDemand(TOWN, [(1, 1)] * 300 + [(7, 6)] * 500)
    release = mdp.k_median(TOWN, demand, k=2, epsilon="1/3", method=method).release
    release.save(tmp_path / "a.release")
    again = mdp.Release.load(tmp_path / "a.release", TOWN)
    assert (again.weights == release.weights).all() and again.receipt == release.receipt
    assert str(again.receipt) == str(release.receipt)
    for k in (1, 3):
        assert again.k_means(k=k).centers == release.k_means(k=k).centers
    assert again.method in repr(again)


def test_a_box_comes_back(tmp_path):
    space = mdp.EuclideanSpace([0, 0], [8, 8])
    points = np.random.default_rng(0).normal([[2, 2]] * 2000 + [[6, 5]] * 2000, 0.2)
    release = mdp.release(space, mdp.PrivateDemand(space, points), epsilon=1)
    release.save(tmp_path / "b.release")
    again = mdp.Release.load(tmp_path / "b.release", space)
    assert np.abs(np.sort(again.k_means(k=2).centers, axis=0) - [[2, 2], [6, 5]]).max() < 0.2
    assert len(again.k_median(k=40).centers) == 40
    np.testing.assert_array_equal(again.sides, release.sides)
    for one in (release, again):
        sample = np.asarray(one.sample(2000))
        assert sample.shape == np.unique(sample, axis=0).shape  # over cells, not on their middles
        assert np.abs(sample.mean(axis=0) - [4, 3.5]).max() < 0.2
    assert release.sample(5).save(tmp_path / "points.csv").read_text().startswith("x,y\n")
    other = mdp.EuclideanSpace([0, 0], [8, 9])
    refuses("is not a release of", mdp.Release.load, tmp_path / "b.release", other)


def test_a_box_of_another_coordinate_system_is_another_place(tmp_path):
    def box(crs):
        return mdp.EuclideanSpace([0, 0], [8, 8], crs=crs)

    for crs, others in (("EPSG:32719", ("EPSG:32718",)), (None, ())):
        space = box(crs)
        mdp.release(space, mdp.PrivateDemand(space, [[1, 1]] * 900), epsilon=1).save(tmp_path / "b")
        for same in (crs, None, "EPSG:32719"):  # where one is not known, nothing differs
            assert mdp.Release.load(tmp_path / "b", box(same)).space.crs == same
        for other in others:
            refuses("EPSG:32719, not in EPSG:32718", mdp.Release.load, tmp_path / "b", box(other))


def last(value):
    """An array whose last number is this one."""
    return lambda array: np.append(array[:-1], value)


def said(header, **other):
    """What a header says of the receipt, changed."""
    told = json.loads(str(header[()]))
    receipt = {**told["receipt"], **other} if other else []
    return np.array(json.dumps(told | {"receipt": receipt}))


@cases(
    ("array", "change"),
    ("weights", lambda weights: weights * np.nan),
    ("weights", lambda weights: np.array([{}], dtype=object)),  # a pickle
    ("header", lambda header: said(header, epsilon_exact="1/0")),
    ("header", said),
    ("weights", last(1e308)),  # these made warnings, or errors, of a search later on
    ("mean", last(np.nan)),
    ("scale", last(1e-300)),
    ("sizes", last(0.0)),
    ("children", lambda children: children + 10_000),
    ("weights", None),
    ids=named,
)
def test_damage_is_one_clear_error(release, tmp_path, array, change):
    path = release.save(tmp_path / "a.release")
    with np.load(path) as archive:
        arrays = dict(archive)
    found = arrays.pop(array)
    arrays |= {array: change(found)} if change else {}
    with path.open("wb") as file:
        np.savez(file, **arrays)
    refuses(r"a\.release: is ", mdp.Release.load, path, TOWN)


def test_a_file_holds_what_was_released_and_is_read_whole_and_in_its_universe(release, tmp_path):
    path = release.save(tmp_path / "a.release")
    tree = ["labels", "children", "sizes"]
    noisy = ["mean", "look", "node", "value", "scale", "gaussian", "bands", "frequencies"]
    held = [f"{name}.npy" for name in ["header", "weights", *tree, *noisy]]
    assert zipfile.ZipFile(path).namelist() == held
    for other in (nx.grid_2d_graph(9, 8), nx.relabel_nodes(nx.grid_2d_graph(9, 9), {(0, 0): "x"})):
        other = mdp.GraphMetric(other, weight=None)
        refuses("another universe", mdp.Release.load, path, other)
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], b"", b"{}"):
        path.write_bytes(data)
        refuses(r"a\.release: is ", mdp.Release.load, path, TOWN)


OLD = Path(__file__).parents[1] / "data" / "releases"
EXPECTED = json.loads((OLD / "expected.json").read_text())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_releases_of_0_1_0_are_read(name):
    grid = nx.relabel_nodes(nx.grid_2d_graph(8, 8), lambda v: f"{v[0]}-{v[1]}")
    in_a_box = name in ("box", "coreset", "lsh", "quadtree")
    box = mdp.EuclideanSpace([0, 0], [1, 1])
    universe = box if in_a_box else mdp.GraphMetric(grid, weight=None)
    release = mdp.Release.load(OLD / f"{name}.release", universe)
    reported = EXPECTED[name]
    expected = (reported["epsilon"], reported["method"])
    assert (str(release.receipt.epsilon), release.method) == expected
    assert release.weights.sum() == pytest.approx(reported["weights_sum"])
    if in_a_box:
        found, wanted = release.k_means(2).centers, np.array(reported["centers"])
        assert np.sort(found, axis=0) == pytest.approx(np.sort(wanted, axis=0), abs=1e-6)
    else:
        assert sorted(release.k_median(2).centers) == sorted(reported["centers"])
    if reported["interval"] is not None:
        found = release.interval(["1-1", "6-6"])
        assert [found.low, found.estimate, found.high] == pytest.approx(reported["interval"])


WEIGHTS = st.lists(st.integers(-2, 9), min_size=25, max_size=25)


@tries(40, WEIGHTS, st.integers(1, 60), st.integers(0, 9))
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
    asked = mdp.release(table, mdp.PrivateDemand(table, clients * 40), epsilon=2)
    assert set(asked.sample(50)) <= set(clients)
    assert set(asked.coreset().points) <= set(clients) and asked.interval(["a"]).low > 0
    refuses("points of the universe", asked.summary, ["a"], stability=True)
