"""The kernels of least-element lists, nested clusters and boxes against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metricdp.kernels.least_elements import (
    BLOCK,
    Labeling,
    graph_entries,
    keep_entries,
    no_levels,
    over_boxes,
    vector_entries,
    workspace,
)
from metricdp.kernels.nested import nested_clusters
from tests import naive

few = settings(max_examples=150, derandomize=True)


def entries(space, ends, i):
    run = slice(ends[i - 1] if i else 0, ends[i])
    # of a repeated point the last counts
    last = dict(zip(space.points[run].tolist(), space.distances[run].tolist()))
    return last


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@few
@given(graph=naive.graphs(longest=200), shift=st.integers(0, 8), seed=st.integers(0, 99))
def test_graph_entries(dtype, graph, shift, seed):
    n, edges = graph
    distances, order = naive.all_pairs(n, edges), np.random.default_rng(seed).permutation(n)
    earlier, sources = order[: n // 2], order[n // 2 :].astype(np.int32)
    known = np.minimum(
        naive.nearest(distances, earlier) if len(earlier) else naive.FAR, np.iinfo(dtype).max // 2
    ) * np.ones(n)
    known = known.astype(dtype)
    trial, space, ends = known.copy(), workspace(500, dtype), np.empty(len(sources), np.int64)
    indptr, indices, lengths = naive.csr(n, edges)
    csr = (indptr, indices, lengths.astype(dtype))
    assert graph_entries(
        csr, shift, sources, 0, known, trial, space, ends, no_levels(dtype)
    ) == len(sources)
    assert (trial == known).all()
    for i, source in enumerate(sources):
        expected = {v: distances[source, v] for v in range(n) if distances[source, v] < known[v]}
        found = entries(space, ends, i)
        assert {v: d for v, d in found.items() if v in expected} == expected
        assert all(d < known[v] and d >= distances[source, v] for v, d in found.items())


def test_a_search_without_room_says_so_and_restores():
    n, edges = naive.random_graph(60, 0)
    known, ends, none = np.full(n, 2**62), np.empty(1, np.int64), no_levels(np.int64)
    trial = known.copy()
    csr, sources = naive.csr(n, edges), np.array([5], np.int32)
    for room in range(1, 60):
        assert (
            graph_entries(csr, 2, sources, 0, known, trial, workspace(room, np.int64), ends, none)
            == 0
        )
        assert (trial == known).all()


@few
@given(graph=naive.graphs(longest=50), shift=st.integers(0, 6), seed=st.integers(0, 99))
def test_graph_labels(graph, shift, seed):
    n, edges = graph
    distances, order = naive.all_pairs(n, edges), np.random.default_rng(seed).permutation(n)
    radii = np.array([500, 40, 10, 2, 0])
    known, labels = np.full(n, 2**62), np.full((n, 5), n, np.int32, order="F")
    filled = np.zeros(n, np.uint8)
    sources, space, ends = order.astype(np.int32), workspace(500, np.int64), np.empty(n, np.int64)
    graph, labeling = naive.csr(n, edges), Labeling(0, radii, filled, labels)
    found = graph_entries(graph, shift, sources, 0, known, known, space, ends, labeling)
    assert found == n
    assert (known == 0).all() and (filled == 5).all()
    for v in range(n):
        assert labels[v].tolist() == [
            next(i for i, c in enumerate(order) if distances[c, v] <= radius) for radius in radii
        ]


@few
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 80),
    d=st.integers(1, 4),
    euclidean=st.booleans(),
    side=st.integers(1, 60),
)
def test_vector_entries(seed, n, d, euclidean, side):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, side, (n, d)).astype(float)
    gaps = np.abs(points[:, None] - points)
    distances = np.ceil(np.sqrt((gaps**2).sum(axis=2))) if euclidean else gaps.sum(axis=2)
    known = rng.integers(0, side, n)
    low = over_boxes(np.minimum, points, np.inf)
    high, farthest = over_boxes(np.maximum, points, -np.inf), over_boxes(np.maximum, known, 0)
    sources, space = np.arange(n, dtype=np.int32), workspace(n * n, np.int64)
    ends = np.empty(n, np.int64)
    assert (
        vector_entries(points, (low, high, farthest), euclidean, sources, 0, known, space, ends)
        == n
    )
    for source in sources:
        assert entries(space, ends, source) == {
            v: distances[source, v] for v in range(n) if distances[source, v] < known[v]
        }
    n_blocks = len(low) // 2
    for box in range(1, len(low)):
        first, last = box, box
        while last < n_blocks:
            first, last = 2 * first, 2 * last + 1
        inside = slice((first - n_blocks) * BLOCK, (last - n_blocks + 1) * BLOCK)
        if len(points[inside]):
            assert (low[box] == points[inside].min(axis=0)).all()
            assert (high[box] == points[inside].max(axis=0)).all()
        assert farthest[box] == (known[inside].max() if len(known[inside]) else 0)


@few
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), shares=st.sampled_from([1, 2, 4]))
def test_keep_entries(seed, n, shares):
    rng = np.random.default_rng(seed)
    matrix, radii = rng.integers(0, 30, (n, n)), np.array([30, 13, 4, 1, 0])
    np.fill_diagonal(matrix, 0)
    known, trials = np.full(n, 2**62), np.full((2, n), 2**62)
    labels, numbers = np.full((n, 5), n, np.int32, order="F"), rng.permutation(n).astype(np.int32)
    points, ends = np.tile(np.arange(n, dtype=np.int32), n), np.arange(1, n + 1) * n
    for share in range(shares):
        entries = points, matrix[numbers].ravel(), ends
        keep_entries(entries, numbers, share, shares, radii, known, trials, labels)
    assert (known == matrix.min(axis=0)).all() and (trials == known).all()
    for v in range(n):
        assert labels[v].tolist() == [
            next(c for c in range(n) if matrix[c, v] <= radius) for radius in radii
        ]


@few
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    n_levels=st.integers(1, 7),
    spread=st.integers(1, 3),
)
def test_nested_clusters(seed, n, n_levels, spread):
    labels = np.random.default_rng(seed).integers(0, min(n, spread), (n, n_levels)).astype(np.int32)
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
