"""One-way roads in what a result is shown as: all arcs, and streets of the right center."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp


def one_way_ring(n: int = 8) -> nx.DiGraph:
    """A ring of one-way streets of 100 m, and one street both ways across, longer one way."""
    graph = nx.DiGraph()
    for v in range(n):
        angle = 2 * np.pi * v / n
        graph.add_node(v, x=float(100 * np.cos(angle)), y=float(100 * np.sin(angle)))
    nx.add_cycle(graph, range(n), length=100.0)
    graph.add_edge(0, n // 2, length=300.0)
    graph.add_edge(n // 2, 0, length=100.0)
    return graph


@pytest.mark.parametrize("direction", ["to-center", "from-center", "round-trip"])
def test_all_arcs_are_in_the_graph(direction):
    metric = mdp.GraphMetric(one_way_ring(), directed=True, direction=direction)
    found = mdp.k_median(metric, k=2).to_networkx()
    assert found.is_directed()
    assert nx.to_dict_of_dicts(found) == {
        v: {w: {"length": d["length"]} for w, d in one_way_ring()[v].items()} for v in range(8)
    }


def test_undirected_ones_stay_as_they_were():
    found = mdp.k_median(mdp.GraphMetric(nx.path_graph(4), weight=None), k=1).to_networkx()
    assert not found.is_directed() and sorted(found.edges) == [(0, 1), (1, 2), (2, 3)]


def naive_share(metric, graph, u, v, label, direction):
    """By 2,000 places along an edge: which share of it, from u on, does u's center serve?"""
    distance = dict(zip(metric.ids, metric.nearest(label)[1].tolist()))
    there = graph[u][v]["length"] if graph.has_edge(u, v) else np.inf
    back = graph[v][u]["length"] if graph.has_edge(v, u) else np.inf
    t = (np.arange(2000) + 0.5) / 2000
    by_u = distance[u] + t * (back if direction == "to-center" else there)
    by_v = distance[v] + (1 - t) * (there if direction == "to-center" else back)
    return float((by_u <= by_v).mean())


@pytest.mark.parametrize("direction", ["to-center", "from-center"])
def test_streets_belong_to_the_center_that_is_reached_along_them(direction):
    pytest.importorskip("geopandas")
    graph = one_way_ring()
    metric = mdp.GraphMetric(graph, directed=True, direction=direction)
    result = mdp.k_median(metric, k=2)
    label = dict(zip(metric.ids, metric.nearest(result.centers)[0].tolist()))
    streets = result.to_geopandas("streets")
    place = {v: np.array([d["x"], d["y"]]) for v, d in graph.nodes(data=True)}
    wanted = np.zeros(2)
    for u, v in {tuple(sorted(e)) for e in graph.edges}:
        length = float(np.linalg.norm(place[u] - place[v]))
        same = label[u] == label[v]
        share = 1 if same else naive_share(metric, graph, u, v, result.centers, direction)
        wanted[label[u]] += share * length
        wanted[label[v]] += (1 - share) * length
    assert len(set(label.values())) == 2
    np.testing.assert_allclose(streets.length.to_numpy(), wanted, rtol=2e-3)
