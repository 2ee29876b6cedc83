"""Distances by elimination of vertices, against all pairs and against searches."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.kernels.elimination import eliminate


@pytest.mark.parametrize(
    "most, graph", [(100, nx.grid_2d_graph(30, 30)), (10**9, nx.gnp_random_graph(200, 0.1, 0))]
)
def test_it_gives_up_where_steps_or_arcs_are_many(most, graph):
    metric = mdp.GraphMetric(graph, weight=None)
    assert len(eliminate(metric.csr, metric.back, most).start) <= len(metric)


@pytest.mark.parametrize("direction", [None, "to-center", "from-center", "round-trip"])
def test_many_rows_are_those_of_searches(direction):
    rng = np.random.default_rng(0)
    graph = nx.random_labeled_tree(300, seed=0).to_directed()
    graph.add_edges_from(rng.integers(0, 300, (60, 2)))
    for _, _, data in graph.edges(data=True):
        data["length"] = int(rng.integers(0, 9))
    options = (
        {"symmetrize": True} if direction is None else {"directed": True, "direction": direction}
    )
    metric = mdp.GraphMetric(graph, **options)
    everyone, some = rng.permutation(300), rng.choice(300, 100)
    one_by_one = np.vstack([metric.grid_rows(everyone[[i]]) for i in range(300)])
    assert (metric if direction != "round-trip" else metric.there).elimination is not None
    assert np.array_equal(metric.grid_rows(everyone), one_by_one)
    assert np.array_equal(metric.distance_rows(everyone, some), one_by_one[:, some] * metric.unit)
