"""Swap local search by rows of distances: what it keeps and where it ends, against brute force."""

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.metrics.directed import DIRECTIONS
from metricdp.solvers.row_search import RowSearch, part_median
from metricdp.solvers.stopping import Deadline
from tests import cases, everything, metric_of, naive, one_way_metric, road_like, tries

POINTS = np.random.default_rng(1).normal(size=(200, 2))


def world(kind="euclidean", n=60, seed=0):
    rng = np.random.default_rng(seed)
    # the former with repeats
    points = rng.integers(0, 9, (n, 2)).astype(float) if kind == "manhattan" else rng.random((n, 3))
    metric = (mdp.ManhattanMetric if kind == "manhattan" else mdp.EuclideanMetric)(points)
    if kind == "matrix":
        metric = mdp.PrecomputedMetric((everything(metric) + everything(metric).T) / 2)
    return metric, rng.normal(1, 1, n) * (rng.random(n) < 0.8), rng


def consistent(search, metric, weights, power):
    true, demand = everything(metric), np.flatnonzero(weights)
    near, far = naive.two_nearest(true[:, demand], search.centers)
    np.testing.assert_allclose(search._near, near)
    if len(search.centers) > 1:
        np.testing.assert_allclose(search._far, far)
        assert (search._first != search._second).all()
    assert search.cost == pytest.approx(naive.cost(true, weights, search.centers, power))
    return true


@pytest.mark.parametrize("kind", ["euclidean", "manhattan", "matrix"])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_a_descent_over_everything_ends_in_a_local_optimum(kind, power, k, monkeypatch):
    monkeypatch.setattr("metricdp.arguments.ENTRIES", 50)  # blocks of a few rows and columns
    metric, weights, rng = world(kind)
    search = RowSearch(metric, weights, rng.choice(60, k, replace=False), power)
    consistent(search, metric, weights, power)
    for _ in range(30):
        before = search.cost
        assert search.descend(60, rng, 100)
        if search.cost == before:
            break
    true = consistent(search, metric, weights, power)
    changes = naive.swap_changes(true, weights, search.centers.tolist(), power)
    changes[search.centers] = 0
    assert changes.min() >= -1e-6 * abs(search.cost) - 1e-9
    assert len(set(search.centers.tolist())) == k


@tries(60, st.data(), st.sampled_from([1, 2]), fixed=True)
def test_moves_and_changes(data, power):
    n = data.draw(st.integers(2, 9))
    coordinates = st.lists(st.integers(0, 6), min_size=n, max_size=n)
    xy = np.array([data.draw(coordinates), data.draw(coordinates)], float)
    metric = mdp.ManhattanMetric(xy.T)
    weights = np.array(data.draw(st.lists(st.integers(-2, 4), min_size=n, max_size=n)), float)
    k = data.draw(st.integers(1, n - 1))
    search = RowSearch(metric, weights, np.arange(k), power)
    true = everything(metric)
    for _ in range(data.draw(st.integers(0, 4))):
        free = np.setdiff1d(np.arange(n), search.centers)
        slot, row = data.draw(st.integers(0, k - 1)), data.draw(st.sampled_from(free.tolist()))
        search._swap(slot, int(row))
        if weights.any():
            consistent(search, metric, weights, power)
    free, slot = np.setdiff1d(np.arange(n), search.centers), data.draw(st.integers(0, k - 1))
    row, reach = true[search.centers[slot]][weights != 0], true[search.centers[slot]][free]
    slots, changes = search._evaluate(row, reach, free)
    expected = naive.swap_changes(true, weights, search.centers.tolist(), power)[free]
    np.testing.assert_allclose(changes, expected.min(axis=1), atol=1e-9)
    np.testing.assert_allclose(changes, expected[np.arange(len(free)), slots], atol=1e-9)


def test_opened_centers_stay_and_others_stand_only_where_allowed():
    metric, weights, rng = world(n=80, seed=3)
    allowed = rng.choice(80, 30, replace=False)
    search = RowSearch(metric, np.abs(weights), np.r_[7, 9, allowed[:4]], allowed=allowed, opened=2)
    before = search.cost
    search.round(1, 30, rng)
    search.descend(30, rng)
    assert search.cost < before and search.centers[:2].tolist() == [7, 9]
    assert set(search.centers[2:]) <= set(allowed)


def test_over_means_over():
    metric, weights, rng = world(seed=4)
    search = RowSearch(metric, weights, np.arange(5), deadline=Deadline(0.0))
    search.round(1, 10, rng)
    assert not search.descend(10, rng) and search.tried == 0
    assert search.centers.tolist() == [0, 1, 2, 3, 4]


@tries(100, naive.graphs(), st.sampled_from([1, 2]), st.data(), fixed=True)
def test_proven_is_best_and_bounds_hold(graph, power, data):
    n, true, metric = graph[0], naive.all_pairs(*graph), metric_of(*graph)
    weights = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), float)
    points = st.lists(st.integers(0, n - 1), min_size=1, unique=True)
    part, allowed = np.array(data.draw(points)), data.draw(st.none() | points)
    inside = np.where(np.isin(np.arange(n), part), weights, 0)
    candidates = part if allowed is None else np.array(allowed)
    best = min(naive.cost(true, inside, [c], power) for c in candidates)
    for searches in (1, 2, 9):
        asked = {"power": power, "allowed": None if allowed is None else candidates}
        found = part_median(metric, weights, part, searches=searches, **asked)
        assert found.center in candidates
        expected = pytest.approx(naive.cost(true, inside, [found.center], power), rel=1e-9)
        assert found.cost == expected
        assert found.bound <= best * (1 + 1e-9) <= found.cost * (1 + 2e-9)
    assert found.cost == pytest.approx(best, rel=1e-9)
    assert found.bound == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("power", [1, 2])
def test_fewer_searches_than_points(power):
    metric = road_like(30)
    weights = np.random.default_rng(0).random(len(metric))
    costs = everything(metric) ** power @ weights
    found = part_median(metric, weights, power=power, searches=300)
    assert costs.min() * (1 - 1e-9) <= found.cost <= 1.001 * costs.min()
    assert 0.98 * costs.min() <= found.bound <= costs.min() * (1 + 1e-9)
    looser = part_median(metric, weights, power=power, searches=30)
    assert looser.bound <= found.bound <= found.cost <= looser.cost


@pytest.mark.parametrize("power", [1, 2])
@cases("metric", mdp.EuclideanMetric(POINTS), *(one_way_metric(60, way) for way in DIRECTIONS))
def test_on_points_and_in_one_direction(metric, power):
    weights = np.random.default_rng(5).integers(0, 5, len(metric)).astype(float)
    costs = everything(metric) ** power @ weights
    found = part_median(metric, weights, power=power, searches=200)
    assert found.cost == found.bound == pytest.approx(costs.min())
    assert costs[found.center] == pytest.approx(costs.min())
    assert part_median(metric, weights, power=power, searches=2).bound <= costs.min() * (1 + 1e-9)


def test_a_deadline():
    metric = road_like(6)
    over = part_median(metric, np.ones(len(metric)), deadline=Deadline(0.0))
    assert over.cost == everything(metric)[over.center].sum() and over.bound < over.cost
