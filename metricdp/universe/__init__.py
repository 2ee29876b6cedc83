"""Public universes: graphs in memory and in files, validated once, with the user's own vertex
ids.

Names are loaded on first use.
"""

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.universe.convert import graph_from
    from metricdp.universe.files import read_graph_file, read_nodes
    from metricdp.universe.formats import FORMATS
    from metricdp.universe.formats.pmed import read_pmed_p
    from metricdp.universe.graph import Graph, build_graph
    from metricdp.universe.samples import sample_index, sample_path
    from metricdp.universe.tables import Table, read_table

__getattr__, __dir__, __all__ = on_first_use(__name__)
