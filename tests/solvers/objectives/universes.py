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


def instance(seed: int, n: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Costs, loads and room: whole numbers for even seeds."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2)) * 20
    loads = rng.integers(0, 9, n).astype(float)
    costs = np.linalg.norm(points[:, None] - points[None], axis=2)
    costs = np.floor(costs) if seed % 2 == 0 else costs
    return costs, loads, loads.sum() / 3 * rng.uniform(0.95, 1.4, n)
