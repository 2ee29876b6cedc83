"""Public universes: graphs in memory and in files, validated once, with the user's own vertex
ids.

Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metricdp.universe.convert import graph_from
    from metricdp.universe.files import read_graph_file
    from metricdp.universe.formats import FORMATS
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
_HOME = {
    "convert": ("graph_from",),
    "files": ("read_graph_file",),
    "formats": ("FORMATS",),
    "formats.pmed": ("read_pmed_p",),
    "graph": ("CoordinateSystem", "Graph", "build_graph"),
    "nodes": ("read_nodes",),
    "samples": ("sample_index", "sample_path"),
    "tables": ("Table", "read_table"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'metricdp.universe' has no attribute {name!r}")
    value = getattr(import_module(f"metricdp.universe.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
