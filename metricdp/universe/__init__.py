"""Public universes: graphs in memory and in files, validated once, with the user's own vertex ids."""

from metricdp.universe.convert import graph_from
from metricdp.universe.files import FORMATS, read_graph_file
from metricdp.universe.formats.pmed import read_pmed_p
from metricdp.universe.graph import CoordinateSystem, Graph, build_graph
from metricdp.universe.nodes import read_nodes
from metricdp.universe.samples import sample_index, sample_path
from metricdp.universe.tables import Table, read_table

__all__ = [
    "FORMATS",
    "CoordinateSystem",
    "Graph",
    "Table",
    "build_graph",
    "graph_from",
    "read_graph_file",
    "read_nodes",
    "read_pmed_p",
    "read_table",
    "sample_index",
    "sample_path",
]
