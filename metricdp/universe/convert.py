"""Graphs of other libraries (networkx, igraph, scipy.sparse) as validated `Graph` objects.

No library is imported that the object does not come from.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metricdp.arguments import floats, shown
from metricdp.arrays import Floats
from metricdp.errors import InputError
from metricdp.options import hashable
from metricdp.universe.crs import WGS84
from metricdp.universe.crs_kinds import declared_by_graph, kind_of
from metricdp.universe.edges import EdgeData, float_lengths, node_points
from metricdp.universe.graph import CoordinateSystem, Graph

ACCEPTED = (
    "networkx Graph/DiGraph/MultiGraph/MultiDiGraph, igraph.Graph, scipy.sparse array or matrix, "
    "metricdp Graph"
)

Coordinates = tuple[Floats, CoordinateSystem, str | None] | tuple[None, None, None]


def graph_from(
    obj: Any,
    weight: Hashable | None = "length",
    *,
    symmetrize: bool = False,
    largest_component: bool = False,
    directed: bool = False,
    name: str | None = None,
) -> Graph:
    """Convert and validate a graph held in memory.

    Parameters
    ----------
    obj : networkx.Graph (or Di-, Multi-, MultiDi-), igraph.Graph, scipy.sparse array or matrix, or
    Graph
        networkx: ids are the nodes; igraph: the vertex attribute ``name`` where distinct, else
        0..n-1; scipy.sparse: 0..n-1, stored entries are edges (a stored zero is an edge of length
        0, of repeated entries the smallest counts). A `Graph` passes through.
    weight : hashable or None
        Edge attribute that holds lengths, in any unit; None makes every edge 1 long. Not used for
        scipy.sparse, unless None.
    symmetrize, largest_component, directed : bool
        As for `read_graph_file`.
    name : str or None
        For messages; None takes the graph's own name.

    Raises
    ------
    InputError
        Another type; an edge without the attribute `weight`; lengths or coordinates that break the
        rules of `build_graph`.
    DirectedGraphError, DisconnectedGraphError

    Notes
    -----
    Coordinates are the node attributes x and y, in the system that the graph's attribute ``crs``
    declares, as OSMnx writes it, else planar; or lon and lat, or the pair pos. The system is kept
    (`Graph.crs`), and of networkx the lines in the edge attribute ``geometry`` (`Graph.bends`).
    Vertices without any place have NaN. O(n + m log m) time.

    Examples
    --------
    >>> graph_from(nx.path_graph(["a", "b", "c"]), weight=None)
    Graph('graph', 3 vertices, 2 edges)
    """
    if isinstance(obj, Graph):
        if obj.directed and not directed:
            raise InputError(f"{obj.name} is a directed graph: pass directed=True")
        return obj if name is None else replace(obj, name=name)
    edges = edges_from(obj, weight)
    if name is not None:
        edges = replace(edges, name=name)
    return edges.build(symmetrize=symmetrize, largest_component=largest_component, one_way=directed)


def edges_from(obj: Any, weight: Hashable | None) -> EdgeData:
    """Edges and coordinates without validation; see `graph_from`."""
    if isinstance(weight, bool) or not hashable(weight):
        raise InputError(
            f"weight must be the name of an edge attribute, or None for edges of length 1; got "
            f"{shown(weight)}"
        )
    roots = {c.__module__.partition(".")[0] for c in type(obj).__mro__}
    if "networkx" in roots and hasattr(obj, "adj"):
        return _from_networkx(obj, weight)
    if "igraph" in roots and hasattr(obj, "get_edgelist"):
        return _from_igraph(obj, weight)
    if "scipy" in roots and hasattr(obj, "tocoo"):
        return _from_sparse(obj, weight)
    hint = ""
    if isinstance(obj, str) or hasattr(obj, "__fspath__"):
        hint = "; files are read by read_graph"
    elif isinstance(obj, np.ndarray):
        hint = "; a full matrix of distances is a PrecomputedMetric"
    elif hasattr(obj, "columns"):
        hint = "; networkx.from_pandas_edgelist(table, 'u', 'v', edge_attr=True) makes one"
    elif isinstance(obj, list | tuple | set):
        hint = "; networkx.Graph(edges) makes one, add_weighted_edges_from(edges) takes lengths"
    raise InputError(f"a graph must be one of: {ACCEPTED}; got {type(obj).__name__}{hint}")


def _missing(weight: object, lacking: int, total: int, known: Sequence[object]) -> InputError:
    names = ", ".join(sorted(map(repr, known))) or "none"
    return InputError(
        f"edge attribute {shown(weight)} is missing on {lacking:,} of {total:,} edges; attributes "
        f"that exist: {names}; "
        "pass weight= one of them, or weight=None for edges of length 1"
    )


def _from_networkx(graph: Any, weight: Hashable | None) -> EdgeData:
    ids = list(graph.nodes)
    position = {i: p for p, i in enumerate(ids)}
    edges = list(graph.edges(data=weight)) if weight is not None else list(graph.edges())
    tails = np.fromiter((position[e[0]] for e in edges), np.int64, len(edges))
    heads = np.fromiter((position[e[1]] for e in edges), np.int64, len(edges))
    lengths = None
    if weight is not None:
        values = [e[2] for e in edges]
        lacking = sum(v is None for v in values)
        if lacking:
            known: dict[Hashable, None] = {
                key: None for _, _, d in graph.edges(data=True) for key in d
            }
            raise _missing(weight, lacking, len(values), list(known))
        lengths = float_lengths(values, weight)
    xy, system, crs = _networkx_coordinates(graph)
    name = graph.graph.get("name")
    label = name if isinstance(name, str) and name else "graph"
    both: dict[str, Any] = {"crs": crs, "measured": _measured(weight)}
    found = EdgeData(
        tails, heads, lengths, ids, graph.is_directed(), "shortest", xy, system, label, **both
    )
    return found.drawn([e[-1] for e in graph.edges(data="geometry")])


def _measured(weight: Hashable | None) -> str:
    return "hops" if weight is None else f"attribute {weight!r}"


def _system(first: str, declared: object) -> tuple[CoordinateSystem, str | None]:
    """What node attributes are: lon is degrees, x what the graph's ``crs`` says."""
    crs = declared_by_graph(declared)
    if first != "x":
        return "lonlat", crs if crs is not None and kind_of(crs) == "lonlat" else WGS84
    return ("xy", None) if crs is None else (kind_of(crs), crs)


def _networkx_coordinates(graph: Any) -> Coordinates:
    present: set[Any] = set()
    for _, data in graph.nodes(data=True):
        present.update(data)
    for first, second in (("x", "y"), ("lon", "lat"), ("longitude", "latitude")):
        if first in present and second in present:
            xs, ys = ([v for _, v in graph.nodes(data=a)] for a in (first, second))
            return node_points(xs, ys, f"{first!r} and {second!r}"), *_system(
                first, graph.graph.get("crs")
            )
    if "pos" in present:
        pairs = [v for _, v in graph.nodes(data="pos")]
        if all(v is None or (hasattr(v, "__len__") and len(v) == 2) for v in pairs):
            pairs = [(None, None) if v is None else v for v in pairs]
            return node_points([v[0] for v in pairs], [v[1] for v in pairs], "'pos'"), "xy", None
    return None, None, None


def _from_igraph(graph: Any, weight: Hashable | None) -> EdgeData:
    n = graph.vcount()
    attributes = graph.vertex_attributes()
    ids: list[Any] = list(range(n))
    if "name" in attributes:
        names = graph.vs["name"]
        if all(v is not None and hashable(v) for v in names) and len(set(names)) == n:
            ids = names
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    lengths = None
    if weight is not None:
        known = graph.edge_attributes()
        values = (
            graph.es[weight] if isinstance(weight, str) and weight in known else [None] * len(pairs)
        )
        lacking = sum(v is None for v in values)
        if lacking:
            raise _missing(weight, lacking, len(pairs), known)
        lengths = float_lengths(values, weight)
    xy: Floats | None = None
    system: CoordinateSystem | None = None
    crs: str | None = None
    for first, second in (("x", "y"), ("lon", "lat"), ("longitude", "latitude")):
        if xy is None and first in attributes and second in attributes:
            xy = node_points(graph.vs[first], graph.vs[second], f"{first!r} and {second!r}")
            declared = graph["crs"] if "crs" in graph.attributes() else None
            system, crs = _system(first, declared)
    name = graph["name"] if "name" in graph.attributes() else None
    label = name if isinstance(name, str) and name else "graph"
    ends = (pairs[:, 0], pairs[:, 1])
    both: dict[str, Any] = {"crs": crs, "measured": _measured(weight)}
    return EdgeData(*ends, lengths, ids, graph.is_directed(), "shortest", xy, system, label, **both)


def _from_sparse(matrix: Any, weight: Hashable | None) -> EdgeData:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"a sparse matrix of edge lengths must be square, got shape {tuple(matrix.shape)}"
        )
    if matrix.format in ("bsr", "dia"):
        raise InputError(
            f"a sparse matrix in {matrix.format.upper()} format cannot tell edges of length 0 "
            f"from no edge; "
            "convert it with .tocsr() and drop zeros that are no edges with .eliminate_zeros()"
        )
    coo = matrix.tocoo()
    if weight is not None and coo.dtype.kind not in "fiu":
        raise InputError(
            f"edge lengths must be real numbers, got dtype {coo.dtype}; "
            "weight=None makes every stored entry an edge of length 1"
        )
    row = np.asarray(coo.row, dtype=np.int64)
    col = np.asarray(coo.col, dtype=np.int64)
    lengths = None if weight is None else floats(coo.data, "edge lengths must be real numbers")
    return EdgeData(row, col, lengths, range(matrix.shape[0]), True)
