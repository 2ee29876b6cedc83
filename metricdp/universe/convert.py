"""Graphs of other libraries (networkx, igraph, scipy.sparse) as validated `Graph` objects.

Only the library that the object comes from is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints, floats, shown
from metricdp.errors import InputError
from metricdp.options import hashable
from metricdp.universe.crs import WGS84, declared_by_graph, kind_of
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
    declares, as OSMnx writes it, else planar; or lon and lat, or the pair pos. The system becomes
    `Graph.crs`, and networkx's edge attribute ``geometry`` becomes `Graph.bends`. Vertices without
    coordinates have NaN. O(n + m log m) time.

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


def _from_networkx(graph: Any, weight: Hashable | None) -> EdgeData:
    ids = list(graph.nodes)
    position = {i: p for p, i in enumerate(ids)}
    edges = list(graph.edges(data=weight))
    ends = np.array([(position[e[0]], position[e[1]]) for e in edges], np.int64)
    known = (key for _, _, data in graph.edges(data=True) for key in data)
    lengths = _lengths(weight, [e[-1] for e in edges], known)
    present = {key for _, data in graph.nodes(data=True) for key in data}

    def column(name: str) -> list[Any]:
        return [value for _, value in graph.nodes(data=name)]

    at = _coordinates(present, column, graph.graph.get("crs"))
    if at[0] is None and "pos" in present:
        pairs = [(None, None) if v is None else v for v in column("pos")]
        if all(hasattr(v, "__len__") and len(v) == 2 for v in pairs):
            at = node_points([v[0] for v in pairs], [v[1] for v in pairs], "'pos'"), "xy", None
    facts = {**graph.graph, "directed": graph.is_directed()}
    found = _edges(facts, ends, lengths, ids, weight, at)
    return found.drawn([e[-1] for e in graph.edges(data="geometry")])


def _edges(
    facts: Mapping[str, Any],
    ends: Ints,
    lengths: Floats | None,
    ids: list[Hashable],
    weight: Hashable | None,
    at: Coordinates,
) -> EdgeData:
    """Edges of a graph; `facts`: the graph's own attributes."""
    tails, heads = ends.reshape(-1, 2).T
    points, system, crs = at
    name = facts.get("name")
    label = name if isinstance(name, str) and name else "graph"
    measured = "hops" if weight is None else f"attribute {weight!r}"
    places = (points, system, label, crs, measured)
    return EdgeData(tails, heads, lengths, ids, facts["directed"], "shortest", *places)


def _lengths(
    weight: Hashable | None, values: Sequence[Any], known: Iterable[object]
) -> Floats | None:
    """Lengths of edges from the values of an attribute; `known`: names of all attributes."""
    if weight is None:
        return None
    lacking = sum(v is None for v in values)
    if lacking:
        names = ", ".join(sorted({repr(name) for name in known})) or "none"
        missing = f"is missing on {lacking:,} of {len(values):,} edges"
        raise InputError(
            f"edge attribute {shown(weight)} {missing}; attributes that exist: {names}; pass "
            f"weight= one of them, or weight=None for edges of length 1"
        )
    return float_lengths(values, weight)


def _coordinates(
    known: Collection[str], column: Callable[[str], Sequence[Any]], declared: Any
) -> Coordinates:
    """Coordinates of vertices from attributes: lon is in degrees, x in the declared system."""
    crs = declared_by_graph(declared)
    for first, second in (("x", "y"), ("lon", "lat"), ("longitude", "latitude")):
        if first in known and second in known:
            points = node_points(column(first), column(second), f"{first!r} and {second!r}")
            if first == "x":
                return points, "xy" if crs is None else kind_of(crs), crs
            degrees = crs is not None and kind_of(crs) == "lonlat"
            return points, "lonlat", crs if degrees else WGS84
    return None, None, None


def _from_igraph(graph: Any, weight: Hashable | None) -> EdgeData:
    n = graph.vcount()
    attributes = graph.vertex_attributes()
    ids: list[Any] = list(range(n))
    if "name" in attributes:
        names = graph.vs["name"]
        if all(v is not None and hashable(v) for v in names) and len(set(names)) == n:
            ids = names
    known = graph.edge_attributes()
    values = graph.es[weight] if weight in known else [None] * graph.ecount()
    facts = {name: graph[name] for name in graph.attributes()} | {"directed": graph.is_directed()}
    at = _coordinates(attributes, graph.vs.__getitem__, facts.get("crs"))
    ends = np.array(graph.get_edgelist(), dtype=np.int64)
    return _edges(facts, ends, _lengths(weight, values, known), ids, weight, at)


def _from_sparse(matrix: Any, weight: Hashable | None) -> EdgeData:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = tuple(matrix.shape)
        raise InputError(f"a sparse matrix of edge lengths must be square, got shape {shape}")
    if matrix.format in ("bsr", "dia"):
        raise InputError(
            f"a sparse matrix in {matrix.format.upper()} format cannot tell edges of length 0 "
            f"from no edge; convert it with .tocsr() and drop zeros that are no edges with "
            f".eliminate_zeros()"
        )
    coo = matrix.tocoo()
    if weight is not None and coo.dtype.kind not in "fiu":
        raise InputError(
            f"edge lengths must be real numbers, got dtype {coo.dtype}; "
            "weight=None makes every stored entry an edge of length 1"
        )
    row, col = (np.asarray(side, dtype=np.int64) for side in (coo.row, coo.col))
    lengths = None if weight is None else floats(coo.data, "edge lengths must be real numbers")
    return EdgeData(row, col, lengths, range(matrix.shape[0]), True)
