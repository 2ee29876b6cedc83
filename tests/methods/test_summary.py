"""Intervals and summaries of releases and results, fresh and read from a file."""

import json

import networkx as nx
import numpy as np
import pytest
from scipy.spatial import cKDTree

import metricdp as mdp
from metricdp.errors import InputError, UnknownIdError
from tests import refuses

TOWN = mdp.GraphMetric(nx.relabel_nodes(nx.grid_2d_graph(12, 12), str), weight=None)


@pytest.fixture(scope="module")
def result():
    homes = [TOWN.ids[i] for i in np.random.default_rng(0).integers(0, 144, 3000)]
    return mdp.k_median(TOWN, mdp.PrivateDemand(TOWN, homes), k=4, epsilon=1)


def test_a_result_has_an_interval_and_a_summary(result):
    reported = result.interval
    assert reported.low <= reported.estimate <= reported.high and reported == result.interval
    summary = result.summary(stability=True)
    assert summary.mean == reported and summary.centers == result.centers
    assert summary.loads.low.shape == summary.loads.high.shape == (4,)
    assert abs(summary.loads.estimate.sum() - 3000) < 300
    assert ((summary.stability.stays >= 0) & (summary.stability.stays <= 1)).all()
    assert (summary.stability.moves >= 0).all()
    plain = json.loads(json.dumps(summary.to_dict()))
    assert plain["mean"]["low"] == reported.low and len(plain["stability"]["stays"]) == 4
    assert result.centers[0] in str(summary)
    assert "credible" in str(summary)


def test_shares_within_a_distance(result):
    near = result.release.interval(result.centers, within=2)
    with pytest.raises(InputError, match="within='2 min': it is not known what"):
        result.release.interval(result.centers, within="2 min")
    assert near.estimate < result.release.interval(result.centers, within=100).estimate == 1
    assert result.release.interval(result.centers, within=2, level=0.5).half_width < near.half_width


def test_a_loaded_release_has_the_same_intervals(result, tmp_path):
    path = tmp_path / "homes.release"
    result.release.save(path)
    loaded = mdp.Release.load(path, TOWN)
    assert loaded.interval(result.centers) == result.release.interval(result.centers)
    assert loaded.k_median(k=4).interval == result.interval
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    kept["children"][0, 0] = 10_000
    with path.open("wb") as file:
        np.savez(file, **kept)
    refuses("damaged", mdp.Release.load, path, TOWN)


@pytest.mark.parametrize("level", [0, 1, 2.5, "x", None, float("nan")])
def test_levels_are_chances(result, level):
    refuses("level", result.release.interval, result.centers, level=level)


@pytest.mark.parametrize("within", [-1, "x", [1, 2], float("nan"), float("inf")])
def test_distances_are_distances(result, within):
    refuses("within", result.release.interval, result.centers, within=within)


def test_centers_are_known_ids(result):
    refuses("", result.release.interval, ["nowhere"], error=UnknownIdError)
    refuses("at least one", result.release.interval, [])


def test_what_has_no_model_says_so():
    public = mdp.k_median(TOWN, k=2)
    assert public.interval is None
    refuses("evaluate", public.summary)
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    points = mdp.PrivateDemand(space, np.random.default_rng(0).random((500, 2)))
    boxed = mdp.k_median(space, points, k=2, epsilon=1, method="quadtree")
    assert boxed.interval is None
    refuses(r"'quadtree': metricdp\.evaluate", boxed.release.interval, boxed.centers)


@pytest.fixture(scope="module")
def homes_in_a_box():
    rng = np.random.default_rng(1)
    middles = rng.random((6, 2)) * [4, 1]
    places = middles[rng.integers(0, 6, 20_000)] + 0.05 * rng.standard_normal((20_000, 2))
    return mdp.EuclideanSpace([0, 0], [4, 1]), places.clip(0, [4, 1])


@pytest.mark.parametrize("known", [False, pytest.param(True, marks=pytest.mark.extended)])
def test_a_box_has_intervals_of_pieces_of_its_cells(homes_in_a_box, known, tmp_path):
    space, places = homes_in_a_box
    expected = (places[::40], np.ones(500)) if known else None
    release = mdp.release(space, mdp.PrivateDemand(space, places), epsilon=2, expected=expected)
    centers = np.array([[0.5, 0.5], [2.0, 0.4], [3.4, 0.8]])  # not found by this noise
    away = np.linalg.norm(places[:, None] - centers, axis=2)
    truth, loads = away.min(axis=1), np.bincount(away.argmin(axis=1), minlength=3)
    reported = release.summary(centers)
    # four half widths of 95 %: 8 standard deviations of the noise
    assert abs(reported.mean.estimate - truth.mean()) < 4 * reported.mean.half_width < 0.2
    assert (np.abs(reported.loads.estimate - loads) < 4 * reported.loads.half_width).all()
    near = release.interval(centers, within=0.5)
    assert abs(near.estimate - (truth <= 0.5).mean()) < 4 * near.half_width < 0.4
    assert release.k_median(k=3).interval.low > 0 and release.k_means(k=3).interval.low > 0
    refuses("not for a box", release.summary, centers, stability=True)
    release.save(tmp_path / "box.release")
    loaded = mdp.Release.load(tmp_path / "box.release", space)
    assert loaded.summary(centers).to_dict() == reported.to_dict()
    if known:
        return  # a solution's loads are those of its centers, whatever is expected
    plan = loaded.solve(mdp.objectives.MaxCoverage(k=3, limit=2))
    assert abs(plan.load_intervals().estimate.sum() - 20_000) < 500  # noise of some 40
    np.testing.assert_allclose(plan.load_intervals().estimate, plan.loads, rtol=0.1, atol=500)


def test_pieces_of_cells_tell_distances_as_even_demand_has_them():
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    places = np.random.default_rng(2).random((50_000, 2))
    release = mdp.release(space, mdp.PrivateDemand(space, places), epsilon=4)
    middles = release.universe.points[::2]  # at a distance of 0 from the middles of half the cells
    truth = cKDTree(middles).query(places)[0].mean()
    reported = release.interval(middles).estimate / truth
    # .90, as demand is taken to cluster around centers; of middles alone .71
    assert 0.8 < reported < 1
