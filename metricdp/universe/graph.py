"""The validated public graph.

Readers and converters produce plain arrays of edges. For all of them `build_graph` applies the
rules about direction, components, parallel edges, self-loops and lengths.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from metricdp.arguments import Bools, Floats, Ints, floats
from metricdp.errors import (
    DirectedGraphError,
    DisconnectedGraphError,
    InputError,
    ShatteredGraphError,
)
from metricdp.options import check_distinct, flag
from metricdp.protocols import CoordinateSystem
from metricdp.universe.bends import Bends, bends_of_pairs

_LEAST_KEPT = 0.25
"""If the largest component has a smaller share of the vertices, edges do not share their ends."""
_ROUNDED = 1e-9
"""Two directions whose lengths differ by a smaller share differ by rounding errors."""
_COMPARED, _COMPARED_VERTICES = 8, 2_000_000
"""Vertices whose distances in both directions are compared; fewer if, times all vertices, they are
more than the second.
"""


class Asymmetry(NamedTuple):
    """The differences between the two directions of a graph that was symmetrized.

    `one_way`, `unequal`: arcs without a reverse; arcs whose reverse has another length; `median`,
    `largest`: of the ratio of the longer to the shorter distance, over pairs of up to 8 vertices
    with all others of the largest strongly connected component; infinite where one of them is 0.
    """

    one_way: int
    unequal: int
    median: float
    largest: float

    def __str__(self) -> str:
        return (
            f"{self.one_way:,} arcs had no reverse and {self.unequal:,} one of another length; the "
            f"distance one way is {self.median:.3g} times that the other way in the median, at "
            f"most {self.largest:.3g} times"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A connected graph with non-negative edge lengths, in CSR form: undirected, each edge stored
    both ways, or directed and strongly connected, each arc stored once.

    Attributes
    ----------
    ids : list of hashable, length n_points
        The user's own vertex ids, in order of position.
    indptr : ndarray of int64, shape (n_points + 1,)
    indices : ndarray of int32, shape (n_arcs,)
        Neighbor positions, sorted within each row; no self-loops, no duplicates.
    lengths : ndarray of float64, shape (n_arcs,)
        Edge lengths in the user's units; zero is allowed.
    coordinates : ndarray of float64, shape (n_points, 2), or None
        Degrees (longitude, latitude) or planar x, y; NaN where a vertex has none.
    coordinate_system : {"lonlat", "xy"} or None
    name : str
        For messages and titles.
    directed : bool
        Whether some arcs have no reverse of the same length.
    asymmetry : Asymmetry or None
        Differences between both directions, of a graph that was symmetrized.
    crs : str or None
        The declared coordinate reference system, such as ``"EPSG:32719"``.
    measured : str
        What the lengths are, in words, where it is known: "column 'length'", "hops".
    left_out : int
        Number of vertices dropped by `largest_component`.
    bends : Bends or None
        Geometry of the edges, in the order of `pairs`; None where all are straight.

    Examples
    --------
    >>> from metricdp.universe import graph_from
    >>> graph = graph_from(nx.path_graph(["a", "b", "c"]), weight=None)
    >>> graph
    Graph('graph', 3 vertices, 2 edges)
    >>> graph.ids, graph.indptr, graph.indices
    (['a', 'b', 'c'], array([0, 1, 3, 4]), array([1, 0, 2, 1], dtype=int32))
    """

    ids: list[Hashable]
    indptr: Ints
    indices: NDArray[np.int32]
    lengths: Floats
    coordinates: Floats | None = None
    coordinate_system: CoordinateSystem | None = None
    name: str = "graph"
    directed: bool = False
    asymmetry: Asymmetry | None = None
    crs: str | None = None
    measured: str = ""
    left_out: int = 0
    bends: Bends | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Graph({self.name!r}, {len(self):,} vertices, {self.edges_in_words})"

    @property
    def edges_in_words(self) -> str:
        """Number of edges, or of arcs of a directed graph, in words."""
        n = len(self.indices)
        return f"{n:,} arcs" if self.directed else f"{n // 2:,} edges"

    def tails(self) -> Ints:
        """Position of each arc's tail, shape (n_arcs,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def pairs(self) -> Ints:
        """Pairs of positions joined by an edge or arc, each once, shape (n_edges, 2)."""
        tails = self.tails()
        if not self.directed:
            once = tails < self.indices
            return np.column_stack([tails[once], self.indices[once].astype(np.int64)])
        ends = np.sort(np.column_stack([tails, self.indices.astype(np.int64)]), axis=1)
        return np.unique(ends, axis=0)


def build_graph(
    tails: ArrayLike,
    heads: ArrayLike,
    lengths: ArrayLike | None,
    *,
    ids: Sequence[Hashable],
    directed: bool,
    symmetrize: bool = False,
    one_way: bool = False,
    largest_component: bool = False,
    parallel: Literal["shortest", "last"] = "shortest",
    coordinates: ArrayLike | None = None,
    coordinate_system: CoordinateSystem | None = None,
    name: str = "graph",
    crs: str | None = None,
    measured: str = "",
    bends: Bends | None = None,
) -> Graph:
    """Validate edges and build the `Graph`.

    Parameters
    ----------
    tails, heads : array_like of int, shape (n_edges,)
        Positions in `ids`.
    lengths : array_like of float, shape (n_edges,), or None
        None gives every edge length 1.
    ids : sequence of hashable, length n_points
    directed : bool
        Whether each row is one arc instead of both directions. A directed graph whose arcs all have
        an equal reverse is accepted as it is.
    symmetrize, largest_component : bool
        As for `read_graph_file`.
    one_way : bool
        Keep directions: the option ``directed`` of `read_graph_file`.
    parallel : {"shortest", "last"}
        Which of several edges between the same vertices counts; "last" is OR-Library's rule.
    coordinates, coordinate_system, name, crs, measured, bends
        As on `Graph`; `bends` in the order of the given edges.

    Raises
    ------
    InputError
        No vertex; repeated ids; a length that is negative, NaN or infinite; an endpoint out of
        range.
    DirectedGraphError, DisconnectedGraphError, ShatteredGraphError
        The largest component has less than a quarter of the vertices.

    Notes
    -----
    Self-loops are dropped. Zero lengths stay: a pseudometric is allowed. O(m log m) time.

    Examples
    --------
    >>> build_graph([0, 1], [1, 2], [1.0, 2.5], ids=["a", "b", "c"], directed=False)
    Graph('graph', 3 vertices, 2 edges)
    """
    symmetrize = flag(symmetrize, "symmetrize")
    largest_component = flag(largest_component, "largest_component")
    if flag(one_way, "directed") and symmetrize:
        both = "directed=True keeps one-way arcs, symmetrize=True uses them both ways"
        raise InputError(f"{both}: give one")
    n = len(ids)
    if n == 0:
        raise InputError("the graph has no vertices")
    check_distinct(ids, "vertex ids must be distinct")
    t, h = (np.asarray(ends, dtype=np.int64) for ends in (tails, heads))
    w = np.ones(len(t)) if lengths is None else _checked_lengths(lengths)
    if not len(t) == len(h) == len(w):
        got = f"{len(t)}, {len(h)} and {len(w)}"
        raise InputError(f"tails, heads and lengths must have one entry an edge, got {got}")
    if len(t) and (min(t.min(), h.min()) < 0 or max(t.max(), h.max()) >= n):
        raise InputError(f"edge endpoints must be positions below {n}")
    xy = None if coordinates is None else np.asarray(coordinates, dtype=np.float64)
    if xy is not None and xy.shape != (n, 2):
        raise InputError(f"coordinates must have shape ({n}, 2), got {xy.shape}")
    drawn = (t, h, w if parallel == "shortest" else -np.arange(len(w), dtype=np.float64))
    position = np.arange(n)
    t, h, w, unmatched = _merged_arcs(t, h, w, n, directed=directed, parallel=parallel)
    asymmetry = None
    if unmatched and symmetrize:
        asymmetry = _compared(t, h, w, n)
        t, h, w = _one_per_arc(np.r_[t, h], np.r_[h, t], np.r_[w, w], n, "shortest")
    elif unmatched and not one_way:
        raise DirectedGraphError(unmatched)
    # a matrix of ones: stored zeros must stay edges
    ones = csr_array((np.ones(len(t), np.int8), (t, h)), shape=(n, n))
    components, label = connected_components(ones, directed=one_way, connection="strong")
    ids = list(ids)
    left_out = 0
    if components > 1:
        sizes = np.bincount(label)
        shattered = sizes.max() < _LEAST_KEPT * n
        if not largest_component or shattered:
            error = ShatteredGraphError if largest_component else DisconnectedGraphError
            raise error(sorted(sizes.tolist(), reverse=True), strongly=one_way)
        left_out = n - int(sizes.max())
        kept = label == sizes.argmax()
        position = np.where(kept, np.cumsum(kept) - 1, -1)
        inside = kept[t] & kept[h]
        t, h, w = position[t[inside]], position[h[inside]], w[inside]
        ids = [i for i, k in zip(ids, kept) if k]
        xy = None if xy is None else xy[kept]
    if xy is not None and np.isnan(xy).any(axis=1).all():
        xy = None  # no vertex has coordinates
    indptr = np.r_[0, np.cumsum(np.bincount(t, minlength=len(ids)))]
    system = coordinate_system if xy is not None else None
    kept = one_way and unmatched > 0
    said = (kept, asymmetry, crs if xy is not None else None, measured, left_out)
    graph = Graph(ids, indptr, h.astype(np.int32), w, xy, system, name, *said)
    if bends is None or xy is None:
        return graph
    tails, heads, rank = position[drawn[0]], position[drawn[1]], drawn[2]
    return replace(graph, bends=bends_of_pairs(bends, tails, heads, rank, graph.pairs()))


def _checked_lengths(lengths: ArrayLike) -> Floats:
    w = floats(lengths, "edge lengths must be numbers")
    bad = ~np.isfinite(w) | (w < 0)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"edge lengths must be finite and non-negative; {int(bad.sum()):,} of {len(w):,} are "
            f"not (first: edge {first + 1}, length {w[first]:g})"
        )
    return w


def _merged_arcs(
    t: Ints, h: Ints, w: Floats, n: int, *, directed: bool, parallel: str
) -> tuple[Ints, Ints, Floats, int]:
    """Arcs sorted by (tail, head), without duplicates and loops; the number without equal
    reverse.
    """
    proper = t != h
    t, h, w = t[proper], h[proper], w[proper]
    if not directed:
        if parallel == "last":  # an edge may be repeated in the other direction
            low, high = np.sort([t, h], axis=0)
            t, h, w = _one_per_arc(low, high, w, n, parallel)
        t, h, w = np.r_[t, h], np.r_[h, t], np.r_[w, w]
        return *_one_per_arc(t, h, w, n, "shortest"), 0
    t, h, w = _one_per_arc(t, h, w, n, parallel)
    at, found = reverses(t, h, n)
    if len(t) == 0:
        return t, h, w, 0
    both = np.minimum(w, w[at])
    same = found & (np.maximum(w, w[at]) <= both * (1 + _ROUNDED))
    return t, h, np.where(same, both, w), int((~same).sum())


def reverses(t: Ints, h: Ints, n: int) -> tuple[Ints, Bools]:
    """For each sorted arc the index of its reverse, and whether it exists."""
    forward = t * n + h
    backward = h * n + t
    at = np.minimum(np.searchsorted(forward, backward), max(len(forward) - 1, 0))
    return at, forward[at] == backward if len(t) else np.zeros(0, np.bool_)


def _compared(t: Ints, h: Ints, w: Floats, n: int) -> Asymmetry:
    """The differences between both directions of a directed graph."""
    at, found = reverses(t, h, n)
    matrix = csr_array((np.where(w == 0, 1e-300, w), (t, h)), shape=(n, n))
    label = connected_components(matrix, directed=True, connection="strong")[1]
    inside = np.flatnonzero(label == np.bincount(label).argmax())
    count = int(np.clip(_COMPARED_VERTICES // n, 1, _COMPARED))
    some = inside[np.linspace(0, len(inside) - 1, count).astype(np.int64)]
    there, back = (
        dijkstra(one, indices=np.unique(some))[:, inside].ravel() for one in (matrix, matrix.T)
    )
    shorter, longer = np.minimum(there, back), np.maximum(there, back)
    shorter[shorter < 1e-200], longer[longer < 1e-200] = 0.0, 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (longer / shorter)[longer > 0]
    ratios = ratios if len(ratios) else np.ones(1)
    unequal = int((found & (w[at] != w)).sum())
    return Asymmetry(int((~found).sum()), unequal, float(np.median(ratios)), float(ratios.max()))


def _one_per_arc(t: Ints, h: Ints, w: Floats, n: int, parallel: str) -> tuple[Ints, Ints, Floats]:
    """Sort arcs by (tail, head) and keep the shortest, or the last given, of each."""
    rank = w if parallel == "shortest" else -np.arange(len(w))
    order = np.lexsort((rank, t * n + h))
    t, h, w = t[order], h[order], w[order]
    first = np.ones(len(t), dtype=bool)
    first[1:] = (t[1:] != t[:-1]) | (h[1:] != h[:-1])
    return t[first], h[first], w[first]
