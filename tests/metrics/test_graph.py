"""Graph distances against networkx, igraph and Floyd's algorithm; the public grid; ids; quirks of
edges.
"""

import igraph
import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from metricdp.errors import UnknownIdError
from metricdp.metrics import GraphMetric
from metricdp.universe.graph import build_graph
from tests import cases, everything, metric_of, naive, path_metric, refuses, tries

# Distances


@tries(80, naive.graphs(), fixed=True)
def test_integer_lengths_are_exact(graph):
    metric, true = metric_of(*graph), naive.all_pairs(*graph)
    assert metric.unit == 1.0
    np.testing.assert_array_equal(everything(metric), true)
    np.testing.assert_array_equal(metric.grid_rows(np.arange(graph[0])), true)


@pytest.mark.parametrize("integers", [True, False])
def test_against_networkx_and_igraph(integers):
    n, edges = naive.random_graph(300, 7, integers=integers)
    G = nx.MultiGraph()
    G.add_nodes_from(f"v{i}" for i in range(n))
    G.add_edges_from((f"v{u}", f"v{v}", {"length": w}) for u, v, w in edges)
    reported = {"edge_attrs": {"length": [e[2] for e in edges]}, "vertex_attrs": {"name": list(G)}}
    g = igraph.Graph(n, [e[:2] for e in edges], **reported)
    theirs = np.array(g.distances(weights="length"))
    lengths = dict(nx.all_pairs_dijkstra_path_length(G, weight="length"))
    np.testing.assert_allclose(theirs, [[lengths[a][b] for b in G] for a in G], rtol=1e-12)
    for mine in (GraphMetric(G), GraphMetric(g)):
        assert list(mine.ids) == list(G)
        found = everything(mine)
        np.testing.assert_allclose(found, theirs, rtol=0, atol=0 if integers else n * mine.unit)
        np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("directed", [False, True])
def test_of_several_weights_several_metrics(directed):
    G = nx.path_graph(3)
    nx.set_edge_attributes(G, {(0, 1): {"am": 1, "pm": 4}, (1, 2): {"am": 2, "pm": 1}})
    for many in (
        GraphMetric(G, weight=["am", "pm"], directed=directed),
        GraphMetric(G, ["am", "pm"], directed=directed),
    ):
        assert [metric.distances([0])[0].tolist() for metric in many] == [[0, 1, 3], [0, 4, 5]]


# Quirks of edges


def test_length_zero_is_a_length():
    # stored zeros are edges
    matrix = csr_array(([0.0, 0.0, 3.0, 3.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    metric = GraphMetric(matrix)
    assert everything(metric).tolist() == [[0, 0, 3], [0, 0, 3], [3, 3, 0]]
    assert metric.nearest([1, 0])[1].tolist() == [0, 0, 3]


@pytest.mark.parametrize("far", [1e17, 1e30, 1e300])
def test_an_edge_that_no_path_takes_may_be_as_long_as_it_likes(far):
    metric = metric_of(4, [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 1.5), (0, 3, far)])
    assert metric.distances([0]).tolist() == [[0, 1, 3, 4.5]] and metric.diameter_bound() == 4.5


# The grid


def check_metric(q):
    assert q.dtype == np.int64
    assert (np.diagonal(q) == 0).all() and (q >= 0).all()
    np.testing.assert_array_equal(q, q.T)
    assert all((q <= q[:, [m]] + q[[m], :]).all() for m in range(len(q)))  # exactly


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 1234.5, 1e12])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_grid_is_a_metric_just_above_the_true_one(scale, seed):
    n, edges = naive.random_graph(60, seed, integers=False)
    edges = [(u, v, w * scale) for u, v, w in edges]
    metric = metric_of(n, edges)
    weights = [e[2] for e in edges]
    true = np.array(igraph.Graph(n, [e[:2] for e in edges]).distances(weights=weights))
    q = metric.grid_rows(np.arange(n))
    check_metric(q)
    assert (q * metric.unit >= true * (1 - 1e-9)).all()
    # every edge is rounded up by less than one step
    assert (q * metric.unit <= true * (1 + 1e-9) + n * metric.unit).all()
    np.testing.assert_array_equal(everything(metric), q * metric.unit)
    assert q.max() <= 2**40 + n
    assert n * q.max() < 2**62


@cases(
    ("lengths", "unit"),
    ([1, 2, 30], 1.0),
    ([0.5, 2], 0.1),
    ([0.25, 1], 0.01),
    ([0.1, 0.2, 0.3], 0.1),
    ([0.1 + 0.2, 0.7], 0.1),  # noise of floating point is not rounded up
    ([1e-6, 7], 1e-6),
    ([0, 0], 1.0),
    ([2e8, 0.125], 1e-3),
)
def test_decimal_lengths_are_exact_on_a_decimal_grid(lengths, unit):
    metric = metric_of(len(lengths) + 1, [(i, i + 1, w) for i, w in enumerate(lengths)])
    assert metric.unit == unit
    expected = np.round(np.r_[0, np.cumsum(lengths)] / unit) * unit
    np.testing.assert_array_equal(metric.distances([0])[0], expected)


def test_short_edges_are_not_rounded_away():
    metric = metric_of(4, [(0, 1, 1e-10), (1, 2, 1.0), (2, 3, 3e-10)])
    row = metric.distances([0])[0]
    assert 1e-10 <= row[1] <= 1e-10 + metric.unit
    assert 1 + 4e-10 <= row[3] * (1 + 1e-15) <= 1 + 4e-10 + 4 * metric.unit


def test_resolution_of_the_user():
    edges = [(0, 1, 1.2), (1, 2, 0.0), (2, 3, 2.0)]
    metric = metric_of(4, edges, resolution=0.5)
    assert metric.unit == 0.5 and metric.distances([0]).tolist() == [[0, 1.5, 1.5, 3.5]]


# Ids


IDS = [("a", 1), "a", 3.5, frozenset({1}), None, -7, b"x"]


def test_ids_of_any_hashable_kind():
    metric = GraphMetric(build_graph(range(6), range(1, 7), None, ids=IDS, directed=False))
    assert list(metric.ids) == IDS
    assert metric.positions(iter(IDS[::-1])).tolist() == list(range(7))[::-1]
    assert metric.distances([("a", 1)], [b"x", None]).tolist() == [[6, 4]]


def test_unknown_ids_are_named():
    metric = path_metric(["a", "b"])
    refuses("'zebra'", metric.nearest, ["a", "zebra"], error=UnknownIdError)
    assert metric.positions([]).tolist() == []


# Snapping


def test_snapping_to_the_nearest_located_vertex():
    xy = np.array([[0.0, 0.0], [np.nan, np.nan], [10.0, 0.0], [0.0, 4.0]])
    ids = list("abcd")
    places = {"coordinates": xy, "coordinate_system": "xy"}
    metric = GraphMetric(build_graph([0, 1, 2], [1, 2, 3], None, ids=ids, directed=False, **places))
    assert metric.snap([[1, 1], [6, 0], [0, 3], [9e9, 0]]).tolist() == [0, 2, 3, 2]
    assert metric.snap(np.empty((0, 2))).tolist() == []
    for bad in ([[1, 2, 3]], [[np.nan, 0]], [[np.inf, 0]], [1, 2], [["x", 0]]):
        refuses("", metric.snap, bad)


def test_a_degree_of_longitude_is_shorter_in_the_north():
    places = np.array([[10.0, 60.0], [10.9, 60.0], [10.0, 60.5], [10.0, 60.0]])
    system = {"ids": list("abcd"), "directed": False, "coordinates": places}
    graph = build_graph([0, 1, 2], [1, 2, 3], None, coordinate_system="lonlat", **system)
    metric = GraphMetric(graph)
    plane = GraphMetric(build_graph([0, 1, 2], [1, 2, 3], None, coordinate_system="xy", **system))
    # 0.21 degrees south of c and 0.48 east, which is half as far there; 0.42 west of b and 0.29
    # north
    point = [[10.48, 60.29]]
    assert metric.snap(point).tolist() == [2]
    assert plane.snap(point).tolist() == [1]
