"""Releases on disk: the same answers in another session, and nothing read as another's."""

import json
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError
from tests import cases, grid_metric, named, refuses

TOWN = grid_metric(9, 9)


@pytest.fixture(scope="module")
def release():
    demand = mdp.PrivateDemand(TOWN, [(1, 1)] * 300 + [(7, 6)] * 500)
    return mdp.release(TOWN, demand, epsilon="1/3")


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
    sample = again.sample(500, seed=1).points
    assert len(np.unique(sample, axis=0)) == 500  # spread over cells, not on their middles
    with pytest.raises(InputError, match="is not a release of"):
        mdp.Release.load(tmp_path / "b.release", mdp.EuclideanSpace([0, 0], [8, 9]))


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


def test_another_universe_is_refused(release, tmp_path):
    release.save(tmp_path / "a.release")
    for other in (nx.grid_2d_graph(9, 8), nx.relabel_nodes(nx.grid_2d_graph(9, 9), {(0, 0): "x"})):
        with pytest.raises(InputError, match="another universe"):
            mdp.Release.load(tmp_path / "a.release", mdp.GraphMetric(other, weight=None))


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
    ("weights", None),
    ids=named,
)
def test_damage_is_one_clear_error(release, tmp_path, array, change):
    path = tmp_path / "a.release"
    release.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    found = arrays.pop(array)
    arrays |= {array: change(found)} if change else {}
    with path.open("wb") as file:
        np.savez(file, **arrays)
    refuses(r"a\.release: is ", mdp.Release.load, path, TOWN)


def test_what_is_no_archive_is_no_release(release, tmp_path):
    path = tmp_path / "a.release"
    release.save(path)
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], b"", b"{}"):
        path.write_bytes(data)
        refuses(r"a\.release: is ", mdp.Release.load, path, TOWN)


def test_a_file_holds_nothing_but_what_was_released(release, tmp_path):
    release.save(tmp_path / "a.release")
    held = zipfile.ZipFile(tmp_path / "a.release").namelist()
    tree = ["labels", "children", "sizes"]
    noisy = ["mean", "look", "node", "value", "scale", "gaussian", "bands", "frequencies"]
    assert held == [f"{name}.npy" for name in ["header", "weights", *tree, *noisy]]


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
