"""GraphMetric: shortest-path distances of a public graph, without a distance matrix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from metricdp.arguments import CRS, Floats, Ints, Singles
from metricdp.errors import InputError
from metricdp.kernels import shortest_paths as paths
from metricdp.kernels.elimination import Elimination, eliminate, swept_rows
from metricdp.kernels.shortest_paths import FAR
from metricdp.kernels.two_nearest import two_nearest
from metricdp.metrics.base import Metric
from metricdp.metrics.edge_grid import quantised
from metricdp.metrics.searches import EdgeBalls, EdgeSearches
from metricdp.metrics.two_nearest import TwoNearest
from metricdp.options import flag
from metricdp.progress import progress
from metricdp.threads import in_threads
from metricdp.universe.convert import graph_from
from metricdp.universe.graph import Graph, build_graph
from metricdp.universe.moving import unit_of

_DIAMETER_SEARCHES = 64  # a tighter bound against a search each
_ROWS_AT_ONCE = 32  # memory against calls
_SWEPT, _STEPS = 128, 100
"""Rows from which vertices are eliminated; steps a vertex, which take as long as some 15 rows by
searches: roads need 2 to 90, other graphs are left to searches (benchmarks/graph_solver.md).
"""


class GraphMetric(Metric):
    """Shortest-path metric of a connected graph; with `directed`, travel along one-way arcs.

    Parameters
    ----------
    graph : networkx graph, igraph.Graph, scipy.sparse matrix or array, or Graph
        Multi- and directed graphs too: of parallel edges the shortest counts, self-loops are
        dropped, and a directed graph is accepted when every arc has a reverse of the same length
        (or with `directed` or `symmetrize`).
    weight : str, None or list of str
        Edge attribute that holds the length (not used for scipy.sparse); None counts hops. A list,
        such as one of times of day, gives a list of metrics.
    symmetrize : bool
        Use the shorter direction of each pair of vertices both ways.
    largest_component : bool
        Keep the largest connected component of a disconnected graph (strongly connected, with
        `directed`).
    directed : bool
        Keep one-way arcs: the universe's distances are then costs of travel in one `direction`
        (`metricdp.metrics.directed`).
    direction : {"to-center", "from-center", "round-trip"}
        With `directed`: whether the demand travels to its center (patients to a clinic), the center
        to its demand (an ambulance), or there and back.
    resolution : float, optional
        Size of the public grid, in units of length, to which edge lengths are rounded *up*. By
        default 10**-j (0 <= j <= 6) when all lengths are multiples of it (distances are then
        exact), else a power of two at least 2**39 times finer than the diameter.

    Attributes
    ----------
    graph : Graph
        The validated graph, in the order of `ids`.
    unit : float
        The grid. All distances are integer multiples of it: sums of edge lengths rounded up, hence
        again a metric, and never shorter than the graph's own (up to 1e-9 of them, taken for
        rounding errors).

    Raises
    ------
    InputError, DirectedGraphError, DisconnectedGraphError
        See `metricdp.universe.graph.build_graph`.

    Notes
    -----
    Vertices are reordered once internally by reverse Cuthill–McKee, which makes searches about
    twice as fast on road networks with shuffled ids.

    Examples
    --------
    >>> G = nx.path_graph(["a", "b", "c"])
    >>> nx.set_edge_attributes(G, {("a", "b"): 1.5, ("b", "c"): 2.0}, "length")
    >>> metric = GraphMetric(G, weight="length")
    >>> metric.distances(["a"])
    array([[0. , 1.5, 3.5]])
    >>> metric.diameter_bound()
    3.5
    """

    graph: Graph
    on_grid = True

    def __new__(cls, *given: Any, directed: bool = False, **options: Any) -> Any:
        """With `directed` a `DirectedGraphMetric`, or for round trips a `RoundTripMetric`; for a
        list of weights a list of metrics.
        """
        weights = given[1] if len(given) > 1 else options.get("weight")
        if isinstance(weights, list):
            settings: Any = {**options, "directed": directed}
            return [cls(*given[:1], **{**settings, "weight": one}) for one in weights]
        if flag(directed, "directed"):
            from metricdp.metrics.directed import directed_metric  # it derives from this class

            return directed_metric(*given, **options)
        return super().__new__(cls)

    def __init__(
        self,
        graph: Any,
        weight: str | None = "length",
        *,
        symmetrize: bool = False,
        largest_component: bool = False,
        resolution: float | None = None,
        directed: bool = False,
        direction: str | None = None,
    ) -> None:
        if directed:  # and made by directed_metric
            return
        if direction is not None:
            raise InputError("direction is for directed graphs: pass directed=True as well")
        self.graph = graph_from(
            graph, weight, symmetrize=symmetrize, largest_component=largest_component
        )
        unit, lengths = quantised(self.graph, resolution)
        self._arrange(unit, self.graph.indptr, self.graph.indices, lengths, lengths)

    def _arrange(
        self, unit: float, indptr: Ints, indices: NDArray[np.int32], lengths: Ints, back: Ints
    ) -> None:
        """Fill all other attributes from the grid, arcs, and their lengths both ways."""
        self.unit = unit
        self.ids = self.graph.ids
        self.name = self.graph.name
        self.coordinates = self.graph.coordinates
        self.coordinate_system = self.graph.coordinate_system
        self.crs = self.graph.crs
        self.measured_in = unit_of(self.graph)
        n = len(self.graph)
        ones = csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
        self.order = reverse_cuthill_mckee(ones, symmetric_mode=True).astype(np.int64)
        self.rank = np.empty(n, np.int64)
        self.rank[self.order] = np.arange(n)
        arc = arcs_of(indptr, self.order)
        starts = np.r_[0, np.cumsum(np.diff(indptr)[self.order])].astype(np.int64)
        self.csr = (starts, self.rank[indices[arc]].astype(np.int32), lengths[arc])
        self.back = self.csr[2] if back is lengths else back[arc]
        self._diameter: float | None = None
        self._place = np.full(n, -1, np.int64)  # scratch of inner_distances

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Distances between positions (n_sources, n_targets): one Dijkstra search a source; on road
        networks two sweeps for eight sources, if there are many (`metricdp.kernels.elimination`).
        """
        return self._rows(sources, targets, np.dtype(np.float64)) * self.unit

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Distances in units of the grid, int64, shape (n_sources, n_targets)."""
        return self._rows(sources, targets, np.dtype(np.int64))

    @cached_property
    def elimination(self) -> Elimination | None:
        """The order of elimination of vertices, if it takes few steps: computed once, in the time
        of at most some 15 searches.
        """
        found = eliminate(self.csr, self.back, _STEPS * len(self))
        return found if len(found.start) > len(self) else None

    def _rows(self, sources: Ints, targets: Ints | None, dtype: np.dtype) -> NDArray[Any]:
        sources = np.asarray(sources, np.int64)
        inner_targets = np.empty(0, np.int64) if targets is None else self.rank[targets]
        many = len(sources) >= _SWEPT and (targets is None or 4 * len(targets) >= len(self))
        order = self.elimination if many else None
        out = np.empty((len(sources), len(self) if targets is None else len(targets)), dtype)
        # every chunk allocates work space of size n: searches that end early use few large chunks
        size = _ROWS_AT_ONCE if targets is None else -(-len(sources) // (os.cpu_count() or 1))
        with progress(total=len(sources), label="shortest paths", unit="source") as bar:

            def work(start: int) -> None:
                chunk = slice(start, start + size)
                inner = self.rank[sources[chunk]]
                if order is not None:
                    swept = self.rank if targets is None else inner_targets
                    swept_rows(order, inner, swept, out[chunk])
                else:
                    rows = np.empty((len(inner), out.shape[1]), dtype)
                    paths.distance_rows(self.csr, inner, inner_targets, targets is None, rows)
                    out[chunk] = rows if targets is not None else rows[:, self.rank]
                bar.update(len(inner))

            in_threads(work, range(0, len(sources), max(size, 1)))
        return out

    def nearest_to(self, centers: Ints) -> tuple[Ints, Floats]:
        """Nearest center of every vertex: one multi-source search, about two Dijkstras."""
        label, distance = self.voronoi(self.rank[np.asarray(centers, np.int64)])
        return label[self.rank], distance[self.rank].astype(np.float64) * self.unit

    @property
    def network(self) -> GraphMetric:  # type: ignore[override]
        """The graph itself, in the inner order."""
        return self

    def inner(self, positions: Ints) -> Ints:
        """The numbers of positions in the inner order."""
        return self.rank[positions]

    def outer(self, numbers: Ints) -> Ints:
        """The positions of inner numbers."""
        return self.order[numbers]

    def two_nearest(self, centers: Ints) -> TwoNearest:
        """One search for all, about three Dijkstras."""
        n = len(self)
        size = 4 * len(self.csr[1]) + len(centers)
        found = TwoNearest(np.full(n, -1, np.int32), np.full(n, FAR), np.full(n, FAR))
        two_nearest(
            (*self.csr, self.back),
            self.rank[centers],
            (found.first, np.empty(n, np.int32), found.near, found.far),
            (np.empty(size, np.int64), np.empty(size, np.int64)),
        )
        return found

    def grid_nearest(self, centers: Ints) -> Ints:
        """One multi-source search."""
        return self.voronoi(self.rank[centers])[1]

    def searches(self, points: Ints) -> EdgeSearches:
        """Bounded searches along edges."""
        return EdgeSearches(self, points)

    def balls(self, steps: int, candidates: Ints | None = None) -> EdgeBalls:
        """Bounded searches along edges."""
        return EdgeBalls(self, steps, candidates)

    def structure(self) -> Iterator[NDArray[Any]]:
        """The edges and their lengths."""
        yield from (self.graph.indptr, self.graph.indices, self.graph.lengths + 0.0)

    def check(self) -> None:
        """Nothing: shortest paths with integer edge lengths have all properties."""

    @property
    def tails(self) -> Ints:
        """Tail of each arc of `csr`."""
        return np.repeat(np.arange(len(self)), np.diff(self.csr[0]))

    def voronoi(self, sources: Ints, lengths: Ints | None = None) -> tuple[Ints, Ints]:
        """Voronoi diagram in the inner order: (label, grid distance) of every vertex; with other
        `lengths` of the arcs, if given.
        """
        if len(sources) == 0:
            raise InputError("at least one center is needed")
        distance = np.full(len(self), paths.FAR)
        label = np.full(len(self), -1, np.int64)
        size = len(self.csr[1]) + len(sources)
        heap = (np.empty(size, np.int64), np.empty(size, np.int64))
        lengths = self.csr[2] if lengths is None else lengths
        paths.add_sources((*self.csr[:2], lengths), sources, 0, distance, label, heap)
        return label, distance

    def seed_centers(
        self, k: int, weights: Floats, rng: np.random.Generator, power: int = 1
    ) -> tuple[Ints, Ints, Floats]:
        """k-median++ by pruned searches: 4, 6, 14 Dijkstras for k = 20, 100, 1,000 on roads."""
        weight, seed = np.maximum(weights, 0.0)[self.order], int(rng.integers(2**62))
        centers, label, distance = paths.sample_by_distance(self.csr, weight, seed, power, k)
        away = distance[self.rank].astype(np.float64) * self.unit
        return self.order[centers], label[self.rank], away

    def cell_distances(self, centers: Ints, label: Ints, distance: Floats) -> Singles:
        """Lengths of paths between all pairs of Voronoi centers through their cells, shape (k, k).

        Shortest paths in the graph whose vertices are the cells and whose edge between adjacent
        cells is the shortest path between their centers that stays in the two (Mehlhorn 1988): real
        paths, on road networks about 1.2 times the shortest, at the cost of a few dozen searches of
        the whole graph for k = 1,280.
        """
        cells = self.quotient(centers, label, distance)
        return cells._small_rows(cells.csr, cells.rank)[:, cells.rank]

    def quotient(self, centers: Ints, label: Ints, distance: Floats) -> GraphMetric:
        """The graph of Voronoi cells, ids 0..k-1, on the same grid; see `cell_distances`."""
        there = np.rint(distance[self.order] / self.unit).astype(np.int64)
        home = self._ways_home(centers, label, there)
        tails, heads, through = boundary_arcs(*self.csr, there, home, label[self.order])
        # on this grid, unchecked: paths through cells may be longer than any distance here
        cells = object.__new__(type(self))
        cells.graph = build_graph(
            tails,
            heads,
            through * self.unit,
            ids=range(len(centers)),
            directed=True,
            one_way=home is not there,
            name=f"cells of {self.name}",
        )
        lengths = np.rint(cells.graph.lengths / self.unit).astype(np.int64)
        back = lengths if home is there else lengths[reversed_places(cells.graph)]
        cells._arrange(self.unit, cells.graph.indptr, cells.graph.indices, lengths, back)
        return cells

    def _ways_home(self, centers: Ints, label: Ints, there: Ints) -> Ints:
        """Distances from vertices to their centers, in the inner order, given those from the
        centers (`there`): the same, in an undirected graph.
        """
        return there

    def inner_distances(self, points: Ints, sources: Ints) -> Singles:
        """Distances in the subgraph of `points`, if it is connected, else in the graph."""
        indptr, indices, lengths = self.csr
        inner = self.rank[points]
        place = self._place
        place[inner] = np.arange(len(inner))
        arc = arcs_of(indptr, inner)
        head = place[indices[arc]]
        place[inner] = -1
        inside = head >= 0
        tail = np.repeat(np.arange(len(inner)), np.diff(indptr)[inner])[inside]
        csr = (
            np.r_[0, np.cumsum(np.bincount(tail, minlength=len(inner)))],
            head[inside].astype(np.int32),
            lengths[arc[inside]],
        )
        rows = self._small_rows(csr, sources)
        if not np.isfinite(rows).all():
            return super().inner_distances(points, sources)
        return rows

    def _small_rows(self, csr: tuple[Ints, NDArray[np.int32], Ints], sources: Ints) -> Singles:
        """All distances from `sources` in a small graph, infinite where there is no path."""
        rows = np.empty((len(sources), len(csr[0]) - 1), np.float32)

        def work(start: int) -> None:
            chunk = slice(start, start + _ROWS_AT_ONCE)
            paths.distance_rows(csr, sources[chunk], np.empty(0, np.int64), True, rows[chunk])

        in_threads(work, range(0, len(sources), _ROWS_AT_ONCE))
        rows[rows >= np.float32(paths.FAR)] = np.inf
        rows *= np.float32(self.unit)
        return rows

    def diameter_bound(self) -> float:
        """Upper bound of the largest distance, in units of length; exact if 64 searches suffice.

        Eccentricity bounds of Takes & Kosters (Algorithms 2013): a search from u with eccentricity
        e gives every v the bounds ``max(d, e - d) <= ecc(v) <= e + d``. On road networks a few
        dozen searches suffice; elsewhere (social graphs) the largest remaining upper bound is
        returned, at most twice the diameter.
        """
        if self._diameter is None:
            self._diameter = float(self._grid_diameter_bound()) * self.unit
        return self._diameter

    def _grid_diameter_bound(self) -> int:
        n = len(self)
        lower = np.zeros(n, np.int64)
        upper = np.full(n, paths.FAR)
        row = np.empty((1, n), np.int64)
        for search in progress(range(_DIAMETER_SEARCHES), label="diameter", unit="search"):
            unresolved = np.flatnonzero(upper > lower.max())
            if not len(unresolved):
                break
            # alternately a vertex of largest upper and of smallest lower bound
            at = np.argmin(lower[unresolved]) if search % 2 else np.argmax(upper[unresolved])
            source = unresolved[at]
            paths.distance_rows(self.csr, np.array([source]), np.empty(0, np.int64), True, row)
            eccentricity = row[0].max()
            lower = np.maximum(lower, np.maximum(row[0], eccentricity - row[0]))
            upper = np.minimum(upper, eccentricity + row[0])
            lower[source] = upper[source] = eccentricity
        return (
            int(max(lower.max(), upper.max())) if (upper > lower.max()).any() else int(lower.max())
        )


def arcs_of(indptr: Ints, vertices: Ints) -> Ints:
    """Indices of the arcs of some vertices of a CSR graph, vertex by vertex."""
    degree = np.diff(indptr)[vertices]
    first = np.r_[0, np.cumsum(degree)]
    return np.repeat(indptr[vertices] - first[:-1], degree) + np.arange(first[-1])


def boundary_arcs(
    indptr: Ints, indices: NDArray[np.int32], lengths: Ints, there: Ints, home: Ints, label: Ints
) -> tuple[Ints, Ints, Ints]:
    """Arcs between Voronoi cells: both cells, and the length of the path between their centers
    through the arc, shape (n_boundary_arcs,) each. `there` and `home`: distances of each vertex
    from its center and to it; `label`: its cell.
    """
    tails = np.repeat(np.arange(len(label)), np.diff(indptr))
    cross = np.flatnonzero(label[tails] != label[indices])
    u, v = tails[cross], indices[cross]
    return label[u], label[v], there[u] + lengths[cross] + home[v]


def reversed_places(graph: Graph) -> Ints:
    """Index of each arc's reverse, where every arc has one."""
    return np.lexsort((graph.tails(), graph.indices))


def read_graph(
    path: str | Path,
    *,
    format: str | None = None,
    weight: str | None = None,
    nodes: str | Path | None = None,
    source: str | None = None,
    target: str | None = None,
    layer: str | None = None,
    crs: CRS | None = None,
    topology: str = "ids",
    symmetrize: bool = False,
    largest_component: bool = False,
    resolution: float | None = None,
    directed: bool = False,
    direction: str | None = None,
) -> GraphMetric:
    """Read a graph file into a metric; parameters as `metricdp.universe.read_graph_file` and
    `GraphMetric`.

    OR-Library pmed, DIMACS, METIS, GraphML, edge lists (CSV, TSV, Parquet) and TNTP, also gzipped,
    and lines of a geographic file (GeoPackage, GeoJSON, GeoParquet, Shapefile; extra ``geo``), by
    the file's ending or `format`.

    Raises
    ------
    GraphFileError, DirectedGraphError, DisconnectedGraphError, InputError

    Examples
    --------
    >>> from metricdp.universe import sample_path
    >>> len(mdp.read_graph(sample_path("generated_pmed.txt"), format="pmed"))
    200
    """
    from metricdp.universe.files import read_graph_file

    graph = read_graph_file(
        path,
        format=format,
        weight=weight,
        nodes=nodes,
        source=source,
        target=target,
        layer=layer,
        crs=crs,
        topology=topology,
        symmetrize=symmetrize,
        largest_component=largest_component,
        directed=directed,
    )
    return GraphMetric(graph, resolution=resolution, directed=directed, direction=direction)
