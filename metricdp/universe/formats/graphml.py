"""GraphML, as networkx and OSMnx write it."""

import re
from io import BytesIO
from pathlib import Path
from typing import Any

from metricdp.errors import GraphFileError
from metricdp.universe.convert import edges_from
from metricdp.universe.edges import LENGTH_NAMES, UNIT, EdgeData, only_length
from metricdp.universe.formats.format import Columns, File, Format

_INTEGER = re.compile(r"-?(0|[1-9]\d*)")


def read_graphml(file: File, columns: Columns) -> EdgeData:
    """Parse GraphML through networkx; node ids are integers when all of them are, as in OSMnx, else
    text.

    Coordinates as `graph_from` finds them: OSMnx's x and y are degrees when ``crs`` is EPSG:4326.
    """
    import networkx as nx

    try:
        graph = nx.read_graphml(BytesIO(file.data))
    except Exception as error:  # ElementTree and networkx raise many types here
        problem = str(error).split("\n")[0] or type(error).__name__
        raise GraphFileError(file.path, f"is not readable as GraphML ({problem})") from None
    if graph.number_of_nodes() and all(isinstance(i, str) and _INTEGER.fullmatch(i) for i in graph):
        graph = nx.relabel_nodes(graph, {i: int(i) for i in graph})
    return edges_from(graph, _length_attribute(file.path, graph, columns.weight))


def _length_attribute(path: str | Path, graph: Any, weight: str | None) -> str | None:
    if weight is not None:
        present = any(weight in d for _, _, d in graph.edges(data=True))
        return None if weight == UNIT and not present else weight
    known: dict[str, None] = {key: None for _, _, d in graph.edges(data=True) for key in d}
    usual = only_length(path, [name for name in LENGTH_NAMES if name in known])
    if usual is not None:
        return usual
    edges = [data for _, _, data in graph.edges(data=True)]
    numeric = [k for k in known if k != "id" and any(type(d.get(k)) in (int, float) for d in edges)]
    if numeric:
        none = f"no edge attribute is known as a length; numeric ones: {', '.join(numeric)}"
        raise GraphFileError(path, f"{none}; name one (weight=, --weight), or weight='unit'")
    return None


FORMAT = Format(
    endings=(".graphml", ".xml"),
    read=read_graphml,
    options=frozenset({"weight"}),
    certain=lambda file: file.head.startswith((b"<?xml", b"<graphml")),
)
