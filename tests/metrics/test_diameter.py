"""Diameter bounds, landmarks, graphs of cells and distances inside cells: honest against exact
distances.
"""

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.metrics import landmarks as landmark_module
from metricdp.metrics.landmarks import landmarks
from tests import everything, metric_of, naive, road_like, tries

# Diameter


@tries(80, naive.graphs(), fixed=True)
def test_small_diameters_are_exact(graph):
    assert metric_of(*graph).diameter_bound() == naive.all_pairs(*graph).max()


@pytest.mark.parametrize("seed", range(3))
def test_diameters_of_road_like_graphs_are_exact(seed):
    metric = road_like(40, seed)
    assert metric.diameter_bound() == everything(metric).max()


@pytest.mark.parametrize("seed", range(3))
def test_bounds_on_social_graphs_are_honest(seed):
    G = nx.barabasi_albert_graph(1500, 3, seed=seed)
    metric = mdp.GraphMetric(G, weight=None)
    true = nx.diameter(G)
    assert true <= metric.diameter_bound() <= 2 * true


def test_bounds_stay_honest_when_searches_run_out(monkeypatch):
    monkeypatch.setattr("metricdp.metrics.graph._DIAMETER_SEARCHES", 2)
    for seed in range(6):
        metric = metric_of(*naive.random_graph(80, seed, integers=False))
        true = everything(metric).max()
        assert true <= metric.diameter_bound() <= 2 * true


# Landmarks


@pytest.mark.parametrize(
    "make",
    [lambda: road_like(12), lambda: mdp.EuclideanMetric(np.random.default_rng(0).random((140, 3)))],
)
def test_landmarks(make):
    metric = make()
    found = landmarks(metric, 30, seed=4)
    true = everything(metric)
    assert len(set(found.positions)) == 30
    np.testing.assert_allclose(found.distance, naive.nearest(true, found.positions))
    distance = true[found.positions[found.label], np.arange(len(metric))]
    np.testing.assert_allclose(distance, found.distance)
    np.testing.assert_allclose(found.rows, true[found.positions], rtol=1e-6)
    between = true[np.ix_(found.positions, found.positions)]
    np.testing.assert_allclose(found.between, between, rtol=1e-6)
    assert landmarks(metric, 30, seed=4) is found and landmarks(metric, 30, seed=5) is not found
    assert not np.array_equal(landmarks(metric, 30, seed=5).positions, found.positions)
    np.testing.assert_array_equal(landmarks(make(), 30, seed=4).positions, found.positions)
    assert sorted(landmarks(metric, 10**6).positions) == list(range(len(metric)))


def test_landmarks_of_a_large_graph_are_as_far_as_some_path(monkeypatch):
    monkeypatch.setattr(landmark_module, "_ROW_ENTRIES", 0)
    metric = road_like(30, 1)
    found = landmarks(metric, 60)
    assert found.rows is None
    true = metric.distance_rows(found.positions, found.positions)
    assert (found.between >= true * (1 - 1e-6)).all()
    off = ~np.eye(60, dtype=bool)
    assert np.mean(found.between[off] / true[off]) < 1.3


# Cells


@tries(80, naive.graphs(), st.data(), fixed=True)
def test_cells_are_joined_by_real_paths(graph, data):
    n, edges = graph
    metric, true = metric_of(n, edges), naive.all_pairs(n, edges)
    some = st.lists(st.integers(0, n - 1), min_size=1, max_size=5, unique=True)
    centers = np.array(data.draw(some))
    label, distance = metric.nearest_to(centers)
    cells = metric.quotient(centers, label, distance)
    rows = metric.cell_distances(centers, label, distance)
    assert cells.unit == metric.unit
    np.testing.assert_array_equal(rows, rows.T)
    np.testing.assert_array_equal(rows, everything(cells))
    between = true[np.ix_(centers, centers)]
    assert (rows >= between).all()
    # the same from its definition: cells joined by the shortest of the paths through their
    # boundaries
    paths = ((label[u], label[v], int(distance[u]) + w + int(distance[v])) for u, v, w in edges)
    joined = naive.all_pairs(len(centers), [path for path in paths if path[0] != path[1]])
    np.testing.assert_array_equal(rows, joined)
    nearest = np.where(np.eye(len(centers), dtype=bool), naive.FAR, between).min(axis=1)
    least = np.where(np.eye(len(centers), dtype=bool), naive.FAR, rows).min(axis=1)
    # nearest centers are adjacent cells: exact (Mehlhorn)
    np.testing.assert_array_equal(least, nearest)


def test_cells_may_be_farther_apart_than_the_grid_allows():
    rng = np.random.default_rng(0)
    n = 2001
    # position 0 in the middle: the grid is as fine as half the diameter allows
    order = np.r_[n // 2, : n // 2, n // 2 + 1 : n]
    position = np.empty(n, int)
    position[order] = np.arange(n)
    metric = metric_of(n, list(zip(position[:-1], position[1:], rng.random(n - 1) * np.pi)))
    assert metric.unit < 1e-7
    centers = np.arange(1, n, 40)
    label, distance = metric.nearest_to(centers)
    found = metric.cell_distances(centers, label, distance)
    np.testing.assert_allclose(found, metric.distance_rows(centers, centers), rtol=1e-6)


def test_landmarks_at_distance_zero_are_joined(monkeypatch):
    monkeypatch.setattr(landmark_module, "_ROW_ENTRIES", 0)
    metric = metric_of(9, [(i, i + 1, i % 3 == 0) for i in range(8)])
    found = landmarks(metric, 9)
    assert sorted(found.label) == list(range(9))
    between = everything(metric)[np.ix_(found.positions, found.positions)]
    np.testing.assert_array_equal(found.between, between)


@tries(80, naive.graphs(), st.data(), fixed=True)
def test_distances_inside(graph, data):
    n, edges = graph
    metric, true = metric_of(n, edges), naive.all_pairs(n, edges)
    some = st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True)
    points = np.array(data.draw(some))
    sources = np.array(data.draw(st.lists(st.integers(0, len(points) - 1), min_size=1, max_size=4)))
    rows = metric.inner_distances(points, sources)
    place = {p: i for i, p in enumerate(points.tolist())}
    kept = [(place[u], place[v], w) for u, v, w in edges if u in place and v in place]
    inside = naive.all_pairs(len(points), kept)[sources]
    around = true[np.ix_(points[sources], points)]
    np.testing.assert_array_equal(rows, around if (inside == naive.FAR).any() else inside)
    assert (rows >= around).all()
    metric.inner_distances(np.arange(n), sources)
    # the scratch is clean
    np.testing.assert_array_equal(metric.inner_distances(points, sources), rows)
