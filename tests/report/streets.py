"""A town for pages."""

import networkx as nx

import metricdp as mdp


def streets(side, ids=str):
    """A side × side grid of streets near Coquimbo, whose crossings have names of their numbers."""
    graph = nx.grid_2d_graph(side, side)
    for x, y in graph:
        graph.nodes[x, y].update(x=-71.3 + x / 100, y=-29.9 + y / 100)
    names = {node: ids(i) for i, node in enumerate(graph)}
    return mdp.GraphMetric(nx.relabel_nodes(graph, names), weight=None)
