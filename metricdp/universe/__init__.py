"""Public universes: graphs in memory and in files, validated once, with the user's own vertex
ids.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.universe.convert import graph_from as graph_from
    from metricdp.universe.files import read_graph_file as read_graph_file
    from metricdp.universe.formats import FORMATS as FORMATS
    from metricdp.universe.formats.pmed import read_pmed_p as read_pmed_p
    from metricdp.universe.graph import Graph as Graph
    from metricdp.universe.graph import build_graph as build_graph
    from metricdp.universe.nodes import read_nodes as read_nodes
    from metricdp.universe.samples import sample_index as sample_index
    from metricdp.universe.samples import sample_path as sample_path
    from metricdp.universe.tables import Table as Table
    from metricdp.universe.tables import read_table as read_table

_HOME = {
    "convert": ("graph_from",),
    "files": ("read_graph_file",),
    "formats": ("FORMATS",),
    "formats.pmed": ("read_pmed_p",),
    "graph": ("Graph", "build_graph"),
    "nodes": ("read_nodes",),
    "samples": ("sample_index", "sample_path"),
    "tables": ("Table", "read_table"),
}
__getattr__, __dir__, __all__ = on_first_use(__name__, _HOME)
