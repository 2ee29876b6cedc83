"""Universes of every kind, small and alike, for objectives that do not list all pairs."""

import networkx as nx
import numpy as np

import metricdp as mdp


def universes(side, n_points):
    """A grid with lengths, the same with one-way lengths, and points of a square; and the generator
    that they were drawn by, for more.
    """
    rng = np.random.default_rng(2)
    graph = nx.grid_2d_graph(side, side)
    nx.set_edge_attributes(graph, {e: int(rng.integers(1, 9)) for e in graph.edges}, "length")
    roads = nx.DiGraph()
    for u, v in graph.edges:
        roads.add_edge(u, v, length=int(rng.integers(1, 9)))
        roads.add_edge(v, u, length=int(rng.integers(1, 9)))
    found = {
        "graph": mdp.GraphMetric(graph),
        "one-way": mdp.GraphMetric(roads, directed=True),
        "points": mdp.EuclideanMetric(rng.random((n_points, 2)) * 100),
    }
    return found, rng
