"""Intervals and summaries of releases and results, fresh and read from a file."""

import json

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError, UnknownIdError


@pytest.fixture(scope="module")
def town():
    return mdp.GraphMetric(nx.relabel_nodes(nx.grid_2d_graph(12, 12), str), weight=None)


@pytest.fixture(scope="module")
def result(town):
    homes = [town.ids[i] for i in np.random.default_rng(0).integers(0, 144, 3000)]
    return mdp.k_median(town, mdp.PrivateDemand(town, homes), k=4, epsilon=1)


def test_a_result_has_an_interval_and_a_summary(town, result):
    told = result.interval
    assert told.low <= told.estimate <= told.high
    assert told == result.interval
    summary = result.summary(stability=True)
    assert summary.mean == told
    assert summary.centers == result.centers
    assert summary.loads.low.shape == summary.loads.high.shape == (4,)
    assert abs(summary.loads.estimate.sum() - 3000) < 300
    assert ((summary.stability.stays >= 0) & (summary.stability.stays <= 1)).all()
    assert (summary.stability.moves >= 0).all()
    plain = json.loads(json.dumps(summary.to_dict()))
    assert plain["mean"]["low"] == told.low
    assert len(plain["stability"]["stays"]) == 4
    assert result.centers[0] in str(summary)
    assert "credible" in str(summary)


def test_shares_within_a_distance(result):
    near = result.release.interval(result.centers, within=2)
    with pytest.raises(InputError, match="within='2 min': it is not known what"):
        result.release.interval(result.centers, within="2 min")
    far = result.release.interval(result.centers, within=100)
    assert near.estimate < far.estimate == 1
    assert result.release.interval(result.centers, within=2, level=0.5).half_width < near.half_width


def test_a_loaded_release_has_the_same_intervals(town, result, tmp_path):
    path = tmp_path / "homes.release"
    result.release.save(path)
    loaded = mdp.Release.load(path, town)
    assert loaded.interval(result.centers) == result.release.interval(result.centers)
    assert loaded.k_median(k=4).interval == result.interval
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    kept["children"][0, 0] = 10_000
    with path.open("wb") as file:
        np.savez(file, **kept)
    with pytest.raises(mdp.InputError, match="damaged"):
        mdp.Release.load(path, town)


@pytest.mark.parametrize("level", [0, 1, 2.5, "x", None, float("nan")])
def test_levels_are_chances(result, level):
    with pytest.raises(mdp.InputError, match="level"):
        result.release.interval(result.centers, level=level)


@pytest.mark.parametrize("within", [-1, "x", [1, 2], float("nan"), float("inf")])
def test_distances_are_distances(result, within):
    with pytest.raises(mdp.InputError, match="within"):
        result.release.interval(result.centers, within=within)


def test_centers_are_known_ids(result):
    with pytest.raises(UnknownIdError):
        result.release.interval(["nowhere"])
    with pytest.raises(mdp.InputError, match="at least one"):
        result.release.interval([])


def test_what_has_no_model_says_so(town):
    public = mdp.k_median(town, k=2)
    assert public.interval is None
    with pytest.raises(mdp.InputError, match="evaluate"):
        public.summary()
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    points = mdp.PrivateDemand(space, np.random.default_rng(0).random((500, 2)))
    boxed = mdp.k_median(space, points, k=2, epsilon=1)
    assert boxed.interval is None
    if boxed.release is not None:
        with pytest.raises(mdp.InputError, match=r"of a box: metricdp\.evaluate"):
            boxed.release.interval(boxed.centers)
