"""Graphs of networkx, igraph and scipy.sparse become the same validated `Graph`."""

from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from metricdp.errors import DirectedGraphError, DisconnectedGraphError
from metricdp.universe import Graph, build_graph, graph_from
from tests import beside, cases, refuses, tries

igraph = pytest.importorskip("igraph")


def all_distances(graph: Graph) -> np.ndarray:
    """Floyd-Warshall on the CSR arrays: slow, and blind to how sparse libraries treat stored
    zeros.
    """
    n = len(graph)
    d = np.full((n, n), np.inf)
    np.fill_diagonal(d, 0.0)
    for i in range(n):
        for a in range(graph.indptr[i], graph.indptr[i + 1]):
            d[i, graph.indices[a]] = min(d[i, graph.indices[a]], graph.lengths[a])
    for k in range(n):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return d


def nx_distances(graph: nx.Graph, ids: list) -> np.ndarray:
    paths = dict(nx.all_pairs_dijkstra_path_length(graph, weight="length"))
    return np.array([[paths[i][j] for j in ids] for i in ids])


@st.composite
def edge_lists(draw):
    """Connected, with zero lengths, self-loops and parallel edges."""
    n = draw(st.integers(1, 9))
    tree = [(draw(st.integers(0, v - 1)), v) for v in range(1, n)]
    more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=14))
    ends = draw(st.permutations(tree + more))
    lengths = draw(st.lists(st.integers(0, 9), min_size=len(ends), max_size=len(ends)))
    return n, [(u, v, w / 2) for (u, v), w in zip(ends, lengths)]


def multigraph(n, edges, kind=nx.MultiGraph, name=lambda i: i):
    graph = kind()
    graph.add_nodes_from(name(i) for i in range(n))
    graph.add_edges_from((name(u), name(v), {"length": w}) for u, v, w in edges)
    return graph


@tries(60, edge_lists())
def test_every_library_gives_the_same_shortest_paths(case):
    n, edges = case
    oracle = nx_distances(multigraph(n, edges), list(range(n)))
    named = graph_from(multigraph(n, edges, name=lambda i: ("v", n - i)))
    assert named.ids == [("v", n - i) for i in range(n)]
    np.testing.assert_allclose(all_distances(named), oracle)
    both = graph_from(multigraph(n, edges, kind=nx.MultiDiGraph), symmetrize=True)
    np.testing.assert_allclose(all_distances(both), oracle)
    ig = igraph.Graph(n=n, edges=[(u, v) for u, v, _ in edges])
    ig.es["length"] = [w for *_, w in edges]
    np.testing.assert_allclose(all_distances(graph_from(ig)), oracle)
    u, v, w = [np.array(c) for c in zip(*edges)] or [np.zeros(0, t) for t in (int, int, float)]
    coo = sp.coo_array((np.r_[w, w], (np.r_[u, v], np.r_[v, u])), shape=(n, n))
    np.testing.assert_allclose(all_distances(graph_from(coo)), oracle)
    one_way = sp.coo_array((w, (u, v)), shape=(n, n))
    np.testing.assert_allclose(all_distances(graph_from(one_way, symmetrize=True)), oracle)


@pytest.mark.parametrize("make", [sp.coo_array, sp.coo_matrix])
def test_sparse_duplicates_are_parallel_edges_and_stored_zeros_are_edges(make):
    row, col = [0, 0, 1, 1, 1, 2], [1, 1, 0, 0, 2, 1]
    matrix = make(([5.0, 3.0, 5.0, 3.0, 0.0, 0.0], (row, col)), shape=(3, 3))
    graph = graph_from(matrix)
    assert all_distances(graph).tolist() == [[0, 3, 3], [3, 0, 0], [3, 0, 0]]
    assert graph.ids == [0, 1, 2] and len(graph.indices) == 4
    assert matrix.nnz == 6  # the caller's matrix is not summed in place


@pytest.mark.parametrize("kind", ["csr", "csc", "lil", "dok"])
def test_sparse_formats(kind):
    dense = np.array([[0, 2, 0], [2, 0, 7], [0, 7, 0]], dtype=np.int16)
    assert all_distances(graph_from(sp.coo_array(dense).asformat(kind)))[0].tolist() == [0, 2, 9]


REFUSED = beside(__file__, "graphs.toml")
NAMES = {
    "nx": nx,
    "np": np,
    "pd": pd,
    "sp": sp,
    "road": lambda length: nx.Graph([(0, 1, {"length": length})]),
}


@cases(("made", "rule"), *REFUSED.items())
def test_what_is_no_graph_is_refused_with_the_rule_or_what_is_accepted(made, rule):
    refuses(rule, lambda: graph_from(eval(made, NAMES)))


def test_boolean_adjacency_is_fine_without_lengths():
    graph = graph_from(sp.coo_array(np.array([[0, 1], [1, 0]], bool)), weight=None)
    assert graph.lengths.tolist() == [1.0, 1.0]


def test_directed_and_disconnected_are_refused_with_the_remedy():
    one_way = nx.DiGraph([("a", "b", {"length": 1})])
    words = r"1 arcs have no reverse.*symmetrize=True \(--symmetrize\)"
    caught = refuses(words, graph_from, one_way, error=DirectedGraphError)
    assert caught.unmatched == 1
    assert graph_from(one_way, symmetrize=True).ids == ["a", "b"]
    symmetric = nx.DiGraph([("a", "b", {"length": 1}), ("b", "a", {"length": 1})])
    assert len(graph_from(symmetric)) == 2  # a directed graph may be a metric all the same
    unequal = nx.DiGraph([("a", "b", {"length": 4}), ("b", "a", {"length": 3})])
    refuses("", graph_from, unequal, error=DirectedGraphError)
    assert graph_from(unequal, symmetrize=True).lengths.tolist() == [3.0, 3.0]
    parts = nx.Graph([(5, 6), (0, 1), (1, 2), (3, 4)])
    words = r"3 components of 3, 2, 2 vertices.*--largest-component"
    caught = refuses(words, graph_from, parts, weight=None, error=DisconnectedGraphError)
    assert caught.sizes == [3, 2, 2]
    assert graph_from(parts, weight=None, largest_component=True).ids == [0, 1, 2]


def test_missing_weight_names_what_exists():
    graph = nx.Graph([(0, 1, {"length": 1, "km": 2}), (1, 2, {"km": 3})])
    refuses(r"'length' is missing on 1 of 2 edges.*'km', 'length'.*weight=None", graph_from, graph)
    assert all_distances(graph_from(graph, "km"))[0, 2] == 5
    assert all_distances(graph_from(graph, None))[0, 2] == 2
    refuses(r"missing on 2 of 2 edges; attributes that exist: none", graph_from, nx.path_graph(3))
    ig = igraph.Graph(edges=[(0, 1)])
    ig.es["weight"] = [2.0]
    refuses(r"'length' is missing on 1 of 1 edges; attributes that exist: 'weight'", graph_from, ig)
    assert graph_from(ig, "weight").lengths.tolist() == [2.0, 2.0]


@cases("value", "12.5", 12.5, np.float32(12.5), Decimal("12.5"), Fraction(25, 2))
def test_lengths_of_many_number_types(value):
    assert graph_from(nx.Graph([(0, 1, {"length": value})])).lengths.tolist() == [12.5, 12.5]


def test_any_hashable_id_and_the_graph_name():
    ids = [("a", 1), frozenset({2}), None, 3.5, "x", b"y"]
    ids.remove(None)  # networkx itself refuses None
    graph = graph_from(nx.path_graph(ids), weight=None)
    assert graph.ids == ids and graph.name == "graph"
    assert graph_from(nx.Graph([(0, 1)], name="town"), weight=None).name == "town"
    assert graph_from(nx.path_graph(2), weight=None, name="mine").name == "mine"


@cases(
    ("attributes", "crs", "system"),
    (("x", "y"), "epsg:4326", "lonlat"),
    (("x", "y"), "EPSG:4326", "lonlat"),
    (("x", "y"), "epsg:32719", "xy"),
    (("x", "y"), None, "xy"),
    (("lon", "lat"), None, "lonlat"),
    (("longitude", "latitude"), None, "lonlat"),
)
def test_coordinates_from_node_attributes(attributes, crs, system):
    first, second = attributes
    graph = nx.path_graph(3)
    graph.graph.update({"crs": crs} if crs else {})
    graph.nodes[0].update({first: 1.5, second: "2.5"})
    graph.nodes[2].update({first: 3, second: 4})
    got = graph_from(graph, weight=None)
    assert got.coordinate_system == system
    np.testing.assert_array_equal(got.coordinates, [[1.5, 2.5], [np.nan, np.nan], [3, 4]])
    ig = igraph.Graph(edges=[(0, 1)])
    ig.vs[first], ig.vs[second] = [1.0, 2.0], [3.0, 4.0]
    if crs:
        ig["crs"] = crs
    assert graph_from(ig, None).coordinate_system == system
    assert graph_from(ig, None).coordinates.tolist() == [[1, 3], [2, 4]]


def test_pos_coordinates_and_bad_ones():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: (1, 2), 1: np.array([3.0, 4.0])}, "pos")
    got = graph_from(graph, weight=None)
    assert got.coordinates.tolist() == [[1, 2], [3, 4]] and got.coordinate_system == "xy"
    nx.set_node_attributes(graph, {0: (1, 2, 3), 1: (3, 4, 5)}, "pos")
    assert graph_from(graph, weight=None).coordinates is None
    nx.set_node_attributes(graph, {0: {"lon": 181.0, "lat": 0.0}, 1: {"lon": 0.0, "lat": 0.0}})
    refuses(r"longitude must lie in \[-180, 180\]", graph_from, graph, weight=None)
    nx.set_node_attributes(graph, {0: "left", 1: "right"}, "lon")
    refuses("node attributes 'lon' and 'lat' must hold numbers", graph_from, graph, weight=None)
    nx.set_node_attributes(graph, {0: np.inf, 1: 0.0}, "lon")
    refuses("coordinates must be finite", graph_from, graph, weight=None)


def test_coordinates_follow_the_largest_component():
    graph = nx.Graph([("far", "off"), ("a", "b"), ("b", "c")])
    nx.set_node_attributes(graph, {v: i for i, v in enumerate(graph)}, "x")
    nx.set_node_attributes(graph, 0, "y")
    got = graph_from(graph, weight=None, largest_component=True)
    assert got.ids == ["a", "b", "c"] and got.coordinates[:, 0].tolist() == [2, 3, 4]


def test_igraph_names_are_ids_only_where_distinct():
    ig = igraph.Graph(edges=[(0, 1), (1, 2)])
    assert graph_from(ig, None).ids == [0, 1, 2]
    ig.vs["name"] = ["c", "b", "a"]
    assert graph_from(ig, None).ids == ["c", "b", "a"]
    ig.vs["name"] = ["c", "b", "c"]
    assert graph_from(ig, None).ids == [0, 1, 2]
    with pytest.raises(DirectedGraphError):
        graph_from(igraph.Graph(edges=[(0, 1)], directed=True), None)


def test_a_graph_passes_through():
    graph = build_graph([0], [1], None, ids=["a", "b"], directed=False)
    assert graph_from(graph) is graph and graph_from(graph, name="other").name == "other"
