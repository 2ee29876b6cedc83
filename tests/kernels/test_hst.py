"""The kernels of least-element lists, nested clusters and boxes against their definitions."""

import hypothesis.strategies as st
import numpy as np
import pytest

import metricdp as mdp
from metricdp.kernels.hst import (
    Labeling,
    consistent_counts,
    counts_above_noise,
    graph_labels,
    nested_clusters,
    over_boxes,
    row_labels,
    vector_labels,
)
from tests import naive, tries

SEEDS = st.integers(0, 10**6)


def unlabeled(n, radii):
    return Labeling(
        radii, np.full(n, 2**62), np.zeros(n, np.uint8), np.full((n, len(radii)), -1, np.int32, "F")
    )


def check(found, distances, order):
    """Labels by their definition: the first point of the order within each radius."""
    assert (found.known == 0).all() and (found.filled == len(found.radii)).all()
    for v in range(len(order)):
        assert found.labels[v].tolist() == [
            next(i for i, c in enumerate(order) if distances[c, v] <= radius)
            for radius in found.radii
        ]


@tries(60, naive.graphs(longest=50), st.integers(0, 99), st.integers(0, 40), fixed=True)
def test_graph_labels(graph, seed, at):
    n, edges = graph
    distances, order = naive.all_pairs(n, edges), np.random.default_rng(seed).permutation(n)
    found, csr = unlabeled(n, np.array([500, 40, 10, 2, 0])), naive.csr(n, edges)
    heap = np.empty(len(csr[1]) + 1, np.int64), np.empty(len(csr[1]) + 1, np.int64)
    for some, first in ((order[:at], 0), (order[at:], min(at, n))):
        graph_labels(csr, some, first, found, heap)
    check(found, distances, order)


@tries(
    50,
    seed=SEEDS,
    n=st.integers(1, 80),
    d=st.integers(1, 4),
    euclidean=st.booleans(),
    side=st.integers(1, 60),
    at=st.integers(0, 80),
    fixed=True,
)
def test_vector_labels(seed, n, d, euclidean, side, at):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, side, (n, d)).astype(float)
    gaps = np.abs(points[:, None] - points)
    distances = np.ceil(np.sqrt((gaps**2).sum(axis=2))) if euclidean else gaps.sum(axis=2)
    order, found = rng.permutation(n), unlabeled(n, np.array([300, 40, 10, 2, 0]))
    low, high = over_boxes(np.minimum, points, np.inf), over_boxes(np.maximum, points, -np.inf)
    for some, first in ((order[:at], 0), (order[at:], min(at, n))):
        boxes = low, high, over_boxes(np.maximum, found.known, 0)
        vector_labels(points, boxes, euclidean, some, first, found)
    check(found, distances, order)


@tries(50, seed=SEEDS, n=st.integers(1, 40), at=st.integers(0, 40), fixed=True)
def test_row_labels(seed, n, at):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 30, (n, n))
    np.fill_diagonal(matrix, 0)
    order, found = rng.permutation(n), unlabeled(n, np.array([30, 13, 4, 1, 0]))
    row_labels(matrix[order[:at]], 0, found)
    row_labels(matrix[order[at:]], min(at, n), found)
    check(found, matrix, order)


@tries(60, SEEDS, st.integers(1, 30), st.integers(1, 7), st.integers(1, 3), fixed=True)
def test_nested_clusters(seed, n, n_levels, spread):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, min(n, spread), (n, n_levels)).astype(np.int32, "F")
    labels[:, 0] = 0
    order, parent, level, start, stop = nested_clusters(labels)
    expected = {}  # cluster -> levels at which it stands
    for i in range(n_levels):
        rows = [tuple(row[: i + 1]) for row in labels.tolist()]
        for row in set(rows):
            expected.setdefault(frozenset(v for v in range(n) if rows[v] == row), []).append(i)
    nodes = [frozenset(order[start[v] : stop[v]].tolist()) for v in range(len(parent))]
    assert sorted(order.tolist()) == list(range(n))
    assert sorted(map(sorted, nodes)) == sorted(map(sorted, expected))
    assert [expected[node][0] for node in nodes] == level.tolist()
    for v in range(1, len(nodes)):
        assert parent[v] < v and nodes[v] < nodes[parent[v]]
        assert level[v] == expected[nodes[parent[v]]][-1] + 1


small_sets = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=8)


@tries(80, small_sets, st.integers(0, 10**6), fixed=True)
def test_consistent_counts_are_the_least_squares_fit(points, seed):
    rng = np.random.default_rng(seed)
    tree = mdp.build_hst(mdp.EuclideanMetric(np.array(points, float)), int(rng.integers(100)))
    value, variance = rng.normal(size=tree.n_nodes) * 10, rng.uniform(0.1, 5, tree.n_nodes)
    inner = np.flatnonzero(tree.last_level < tree.n_levels - 1)
    variance[rng.permutation(inner)[: len(inner) // 2]] = np.inf
    found, spread = consistent_counts(tree.parent, value, variance, tree.sizes.astype(float))
    expected = naive.least_squares_counts(tree.parent, value, variance)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert (spread <= variance).all()
    assert spread[0] == pytest.approx(naive.least_squares_variance(tree.parent, variance)[0])
    assert (spread >= naive.least_squares_variance(tree.parent, variance) - 1e-9).all()


def test_what_was_not_counted_is_spread_evenly():
    parent = np.array([-1, 0, 0, 1, 1], np.int32)
    sizes = np.array([4.0, 3, 1, 2, 1])
    value, variance = np.array([8.0, 0, 0, 0, 0]), np.array([1.0, *[np.inf] * 4])
    found, spread = consistent_counts(parent, value, variance, sizes)
    np.testing.assert_allclose(found, [8, 6, 2, 4, 2])
    assert spread.tolist() == [1.0, *[np.inf] * 4]


def test_nodes_are_above_the_noise_and_the_rest_is_spread():
    parent = np.array([-1, 0, 0, 0, 1, 1], np.int32)
    sizes = np.array([10.0, 4, 4, 2, 3, 1])
    value, deviation = np.array([100.0, 70, 3, 27, 69, 1]), np.array([0.0, 10, 10, 30, 10, 10])
    counts, above = counts_above_noise(parent, value, deviation, sizes)
    assert above.tolist() == [True, True, False, False, True, False]
    np.testing.assert_allclose(counts, [100, 70, 20, 10, 69, 1])
    value = np.array([100.0, 9, 9, 9, 69, 1])
    counts, above = counts_above_noise(parent, value, np.full(6, 10.0), sizes)
    assert above.tolist() == [True] + 5 * [False]  # below a node in the noise, none is above it
    np.testing.assert_allclose(counts, sizes * 10)
