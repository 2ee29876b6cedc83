"""Travel along one-way roads: costs from the demand to its center, from the center to its demand,
or there and back.

A center's row of distances is the cost of serving every point from it. Internally every arc has a
reverse arc. Where the graph has none it is as long as a path around, so that distances do not
change and searches can go both ways. The undirected graph with the longer direction of every arc
bounds the distances in both directions (`symmetric`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints, Singles, chosen
from metricdp.errors import InputError
from metricdp.kernels import shortest_paths as paths
from metricdp.kernels.shortest_paths import FAR
from metricdp.metrics.base import Metric
from metricdp.metrics.by_rows import RowMetric
from metricdp.metrics.edge_grid import quantised
from metricdp.metrics.graph import GraphMetric
from metricdp.threads import in_threads
from metricdp.universe.convert import graph_from
from metricdp.universe.graph import Graph, build_graph, reverses

DIRECTIONS = ("to-center", "from-center", "round-trip")
"""Who travels: the demand to its center, the center to its demand, or there and back."""
_AROUND = 2000
"""The path around a one-way arc is searched among so many vertices nearest to its head."""
_DIAMETER_SEARCHES = 8  # a tighter bound against a search each


def directed_metric(
    graph: Any,
    weight: str | None = "length",
    *,
    direction: str | None = None,
    symmetrize: bool = False,
    largest_component: bool = False,
    resolution: float | None = None,
) -> Metric:
    """What ``GraphMetric(graph, weight, directed=True, …)`` returns; parameters as there."""
    if symmetrize:
        raise InputError(
            "directed=True keeps one-way arcs, symmetrize=True uses them both ways: give one"
        )
    which = DIRECTIONS[0] if direction is None else chosen(direction, DIRECTIONS, "direction")
    found = graph_from(graph, weight, largest_component=largest_component, directed=True)
    arcs = _two_way(found, *quantised(found, resolution))
    if which == "round-trip":
        return RoundTripMetric(DirectedGraphMetric.of(found, arcs, DIRECTIONS[0]))
    return DirectedGraphMetric.of(found, arcs, which)


class TwoWay(NamedTuple):
    """A CSR graph in which every arc has a reverse: lengths of both, in grid steps of `unit`."""

    unit: float
    indptr: Ints
    indices: NDArray[np.int32]
    there: Ints
    back: Ints


class DirectedGraphMetric(GraphMetric):
    """Costs of travel in one direction in a strongly connected graph, without a matrix; made by
    ``GraphMetric(graph, directed=True)``.

    Attributes
    ----------
    graph : Graph
        The graph as it was given.
    direction : {"to-center", "from-center"}
        A row of distances from c holds d(v, c), or d(c, v), for every v.
    symmetric : GraphMetric
        Undirected, on the same vertices; never shorter than the distance in either direction.

    Notes
    -----
    **The symmetric bound.** For every two vertices that an arc joins, let L{u, v} be the longer of
    d(u, v) and d(v, u) (or a longer path around, where a search of 2,000 vertices finds none), and
    let D be the shortest-path metric of the undirected graph with these lengths. The directed
    distance obeys the triangle inequality, so along the path that gives D(u, v) both d(u, v) and
    d(v, u) are at most the sum of its L: ``max(d(u, v), d(v, u)) <= D(u, v)``. Hence ``d(c, v) <=
    d(c, u) + d(u, v) <= d(c, u) + D(u, v)`` for every center c, and likewise in the other
    direction: replacing a record at u by one at v changes the cost of any centers by at most D(u,
    v).

    Searches take as long as in an undirected graph; see `GraphMetric`.

    Examples
    --------
    >>> ring = nx.cycle_graph(4, create_using=nx.DiGraph)  # 0 -> 1 -> 2 -> 3 -> 0
    >>> there = GraphMetric(ring, weight=None, directed=True)  # to the center
    >>> there.distances([0])
    array([[0., 3., 2., 1.]])
    >>> GraphMetric(ring, weight=None, directed=True, direction="from-center").distances([0])
    array([[0., 1., 2., 3.]])
    >>> GraphMetric(ring, weight=None, directed=True, direction="round-trip").distances([0])
    array([[0., 4., 4., 4.]])
    """

    direction: str
    directed = True

    @classmethod
    def of(cls, graph: Graph, arcs: TwoWay, direction: str) -> Self:
        """The metric of a validated graph and its arcs on the grid."""
        made = object.__new__(cls)
        made.graph, made.direction = graph, direction
        unit, indptr, indices, there, back = arcs
        if direction == "to-center":  # a center's search goes against the travel
            there, back = back, there
        made._arrange(unit, indptr, indices, there, back)
        return made

    @cached_property
    def reversed(self) -> Self:
        """The same graph with travel in the other direction."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        for cached in ("symmetric", "reversed", "elimination"):
            made.__dict__.pop(cached, None)
        made.csr, made.back = (*self.csr[:2], self.back), self.csr[2]
        made.direction = DIRECTIONS[1 - DIRECTIONS.index(self.direction)]
        made._place = np.full(len(self), -1, np.int64)
        return made

    @cached_property
    def symmetric(self) -> GraphMetric:
        """The undirected graph of the longer directions."""
        return self.undirected(np.maximum(self.csr[2], self.back), "longer directions")

    def undirected(self, lengths: Ints, what: str) -> GraphMetric:
        """A metric with the same arcs, undirected, of these lengths in the inner order."""
        tails, indices = self.tails, self.csr[1]
        once = tails < indices
        graph = build_graph(
            self.order[tails[once]],
            self.order[indices[once]],
            lengths[once] * self.unit,
            ids=self.ids,
            directed=False,
            coordinates=self.coordinates,
            coordinate_system=self.coordinate_system,
            name=f"{self.name} ({what})",
        )
        return GraphMetric(graph)

    def distance_block(self, sources: Ints, targets: Ints) -> Singles:
        """`distance_rows` in single precision, by searches from the smaller side."""
        if len(sources) <= len(targets):
            return self.distance_rows(sources, targets).astype(np.float32)
        return np.ascontiguousarray(
            self.reversed.distance_rows(targets, sources).T.astype(np.float32)
        )

    def structure(self) -> Iterator[NDArray[Any]]:
        """The arcs, their lengths, and the direction."""
        yield from super().structure()
        yield np.array([DIRECTIONS.index(self.direction)])

    def _ways_home(self, centers: Ints, label: Ints, there: Ints) -> Ints:
        inner_label, at = label[self.order], self.rank[centers]
        within = inner_label[self.tails] == inner_label[self.csr[1]]
        home = self.voronoi(at, np.where(within, self.back, FAR))[1]
        # a center at distance 0 from another may disconnect its cell: go through vertex 0
        lost = np.flatnonzero(home >= FAR)
        if len(lost):
            to_hub, from_hub = self._from(0, self.back), self._from(0, self.csr[2])
            home[lost] = to_hub[lost] + from_hub[at[inner_label[lost]]]
        return home

    def quotient(self, centers: Ints, label: Ints, distance: Floats) -> GraphMetric:
        """The graph of Voronoi cells; every path is one of the graph's own."""
        cells = super().quotient(centers, label, distance)
        cells.direction = self.direction  # type: ignore[attr-defined]
        return cells

    def _from(self, inner: int, lengths: Ints) -> Ints:
        row = np.empty((1, len(self)), np.int64)
        paths.distance_rows(
            (*self.csr[:2], lengths), np.array([inner]), np.empty(0, np.int64), True, row
        )
        return row[0]

    def _grid_diameter_bound(self) -> int:
        """Minimum over a few vertices of the sum of eccentricities to and from the vertex."""
        farther = np.zeros(len(self), np.int64)
        best, hub = int(FAR), 0
        for _ in range(_DIAMETER_SEARCHES):
            there, back = self._from(hub, self.csr[2]), self._from(hub, self.back)
            best = min(best, int(there.max() + back.max()))
            farther = np.maximum(farther, np.maximum(there, back))
            hub = int(farther.argmin())
        return best


class RoundTripMetric(RowMetric):
    """Lengths of round trips: a metric, by two searches a row.

    Round trips are symmetric and obey the triangle inequality. No single search finds the nearest
    centers, so this metric works by rows. Public partitions, which need only a bound, use the graph
    whose edges are as long as an arc and its reverse together (`symmetric`): it is never shorter.

    Examples
    --------
    >>> arcs = nx.cycle_graph(4, create_using=nx.DiGraph)
    >>> ring = mdp.GraphMetric(arcs, weight=None, directed=True)
    >>> ring.symmetric.distances([0], [1, 2])
    array([[3., 6.]])
    """

    on_grid = True

    def __init__(self, there: DirectedGraphMetric) -> None:
        self.there = there
        self.ids, self.unit, self.name = there.ids, there.unit, there.name
        self.graph, self.coordinates = there.graph, there.coordinates
        self.coordinate_system = there.coordinate_system
        self.direction = DIRECTIONS[2]

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Two searches a source."""
        there = self.there
        return there.grid_rows(sources, targets) + there.reversed.grid_rows(sources, targets)

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Two searches a source."""
        return self.grid_rows(sources, targets).astype(np.float64) * self.unit

    @cached_property
    def symmetric(self) -> GraphMetric:
        """The undirected graph whose edges are as long as an arc and its reverse together."""
        there = self.there
        return there.undirected(there.csr[2] + there.back, "there and back")

    def diameter_bound(self) -> float:
        """Twice the bound of one way, or twice the farthest round trip from the first vertex."""
        return min(2 * self.there.diameter_bound(), self._twice_eccentricity)

    def structure(self) -> Iterator[NDArray[Any]]:
        """The arcs, their lengths, and that it is there and back."""
        yield from super(DirectedGraphMetric, self.there).structure()
        yield np.array([DIRECTIONS.index(self.direction)])

    def check(self) -> None:
        """Nothing: sums of shortest paths with integer lengths have all properties."""


def _two_way(graph: Graph, unit: float, lengths: Ints) -> TwoWay:
    """All arcs with their reverses; a missing reverse is as long as a path around."""
    n, tails, heads = len(graph), graph.tails(), graph.indices.astype(np.int64)
    _, found = reverses(tails, heads, n)
    one_way = np.flatnonzero(~found)
    if len(one_way):
        around = _ways_around(graph, lengths, heads[one_way], tails[one_way])
        tails, heads, lengths = (
            np.r_[tails, heads[one_way]],
            np.r_[heads, tails[one_way]],
            np.r_[lengths, around],
        )
        order = np.lexsort((heads, tails))
        tails, heads, lengths = tails[order], heads[order], lengths[order]
    indptr = np.r_[0, np.cumsum(np.bincount(tails, minlength=n))]
    back = lengths[np.lexsort((tails, heads))]
    return TwoWay(unit, indptr, heads.astype(np.int32), lengths, back)


def _ways_around(graph: Graph, lengths: Ints, sources: Ints, targets: Ints) -> Ints:
    """Path lengths from each source to its target: shortest if near, else through vertex 0."""
    there = graph.indptr, graph.indices, lengths
    order = np.argsort(sources, kind="stable")
    each, counts = np.unique(sources, return_counts=True)
    first = np.r_[0, np.cumsum(counts)]
    found = np.full(len(sources), FAR)
    size = -(-len(each) // (4 * (os.cpu_count() or 1)))

    def work(start: int) -> None:
        some = slice(start, min(start + size, len(each)))
        mine = slice(first[start], first[some.stop])
        begins = first[start : some.stop + 1] - first[start]
        paths.returns(there, each[some], begins, targets[order[mine]], _AROUND, found[mine])

    in_threads(work, range(0, len(each), size))
    around = np.empty(len(sources), np.int64)
    around[order] = found
    far = np.flatnonzero(around >= FAR)
    if len(far):
        hub, none = np.zeros(1, np.int64), np.empty(0, np.int64)
        rows = np.empty((2, len(graph)), np.int64)
        turn = np.lexsort((graph.tails(), graph.indices))
        indptr = np.r_[0, np.cumsum(np.bincount(graph.indices, minlength=len(graph)))]
        against = (indptr, graph.tails()[turn].astype(np.int32), lengths[turn])
        paths.distance_rows(there, hub, none, True, rows[:1])
        paths.distance_rows(against, hub, none, True, rows[1:])
        around[far] = rows[1, sources[far]] + rows[0, targets[far]]
    return around
