"""The kernels of least-element lists, nested clusters and boxes against their definitions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metricdp.kernels.least_elements import (
    Labeling,
    graph_labels,
    over_boxes,
    row_labels,
    vector_labels,
)
from metricdp.kernels.nested import nested_clusters
from tests import naive, tries

few = settings(max_examples=150, derandomize=True)


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


@few
@given(graph=naive.graphs(longest=50), seed=st.integers(0, 99), at=st.integers(0, 40))
def test_graph_labels(graph, seed, at):
    n, edges = graph
    distances, order = naive.all_pairs(n, edges), np.random.default_rng(seed).permutation(n)
    found, csr = unlabeled(n, np.array([500, 40, 10, 2, 0])), naive.csr(n, edges)
    heap = np.empty(len(csr[1]) + 1, np.int64), np.empty(len(csr[1]) + 1, np.int64)
    for some, first in ((order[:at], 0), (order[at:], min(at, n))):
        graph_labels(csr, some, first, found, *heap)
    check(found, distances, order)


@few
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 80),
    d=st.integers(1, 4),
    euclidean=st.booleans(),
    side=st.integers(1, 60),
    at=st.integers(0, 80),
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


@tries(150, seed=st.integers(0, 10**6), n=st.integers(1, 40), at=st.integers(0, 40), fixed=True)
def test_row_labels(seed, n, at):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 30, (n, n))
    np.fill_diagonal(matrix, 0)
    order, found = rng.permutation(n), unlabeled(n, np.array([30, 13, 4, 1, 0]))
    row_labels(matrix[order[:at]], 0, found)
    row_labels(matrix[order[at:]], min(at, n), found)
    check(found, matrix, order)


@few
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    n_levels=st.integers(1, 7),
    spread=st.integers(1, 3),
)
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
