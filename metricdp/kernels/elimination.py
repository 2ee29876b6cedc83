"""Distances from many vertices of a road network, by elimination of its vertices.

Vertices are removed by least degree, as in sparse elimination; arcs as long as the paths through
one join its neighbors. A shortest path then goes up this order and down again, so that two sweeps
over the arcs serve eight sources at once (Dibbelt, Strasser & Wagner, "Customizable Contraction
Hierarchies", ACM JEA 21, 2016; Delling et al., "PHAST", JPDC 73, 2013).
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

AT_ONCE = 8  # distances of a vertex from as many sources are a cache line
ROOM = 8  # times the arcs of the graph: roads need 1 to 3.5
LONG = 2**60  # beyond any distance: longer paths, which are no shortest ones, might overflow


class Elimination(NamedTuple):
    """Places `rank` (n,) of vertices in the order of elimination; for the one at place i, the
    neighbors it had then, places ``head[start[i] : start[i + 1]]``, at distances `there` and
    `back`. `start` has n + 1 entries.
    """

    rank: NDArray
    start: NDArray
    head: NDArray
    there: NDArray
    back: NDArray


@njit(cache=True, nogil=True)
def eliminate(graph: tuple, back: NDArray, most: int) -> Elimination:
    """Eliminate all vertices of a simple CSR graph, each of whose arcs has a reverse, of lengths
    `back`. After `most` steps, or where there is no `ROOM` for more arcs, give up: `start` is then
    shorter.
    """
    indptr, indices, lengths = graph
    n = len(indptr) - 1
    room = ROOM * (len(indices) + 1)
    # lists of arcs: `first` of a vertex, the one `after` an arc, its head, its length both ways
    first, after = np.full(n, -1), np.empty(room, np.int64)
    head, there, here = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    arcs = 0
    # stacks of vertices by degree, which may have changed since
    top, below, listed = np.full(n, -1), np.empty(room, np.int64), np.empty(room, np.int64)
    degree, stacked = np.zeros(n, np.int64), 0
    for u in range(n):
        for a in range(indptr[u], indptr[u + 1]):
            head[arcs], there[arcs], here[arcs] = indices[a], lengths[a], back[a]
            after[arcs], first[u] = first[u], arcs
            arcs += 1
        degree[u] = indptr[u + 1] - indptr[u]
        listed[stacked], below[stacked], top[degree[u]] = u, top[degree[u]], stacked
        stacked += 1
    rank, start, arc_to = np.full(n, -1), np.zeros(n + 1, np.int64), np.full(n, -1)
    up, up_there, up_back = (
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
    )
    steps = least = done = 0
    while done < n and steps <= most:
        while top[least] < 0:
            least += 1
        v, top[least] = listed[top[least]], below[top[least]]
        if rank[v] >= 0 or degree[v] != least:
            continue
        around = degree[v]
        if max(arcs + around * around, stacked + around, start[done] + around) > room:
            break
        at, a = start[done], first[v]
        while a >= 0:
            up[at], up_there[at], up_back[at] = head[a], there[a], here[a]
            at, a = at + 1, after[a]
        mine = range(start[done], at)
        rank[v], done = done, done + 1
        start[done] = at
        for i in mine:
            u = up[i]
            last, a = -1, first[u]
            while a >= 0:
                if head[a] != v:
                    arc_to[head[a]] = last = a
                elif last < 0:
                    first[u] = after[a]
                else:
                    after[last] = after[a]
                a = after[a]
            for j in mine:
                if j == i:
                    continue
                a = arc_to[up[j]]
                if a < 0:
                    a, arcs = arcs, arcs + 1
                    head[a], there[a], here[a] = up[j], LONG, LONG
                    after[a], first[u] = first[u], a
                    degree[u] += 1
                there[a] = min(there[a], up_back[i] + up_there[j])
                here[a] = min(here[a], up_back[j] + up_there[i])
            a = first[u]
            while a >= 0:
                arc_to[head[a]] = -1
                steps, a = steps + 1, after[a]
            degree[u] -= 1
            listed[stacked], below[stacked], top[degree[u]] = u, top[degree[u]], stacked
            stacked, least = stacked + 1, min(least, degree[u])
    size = start[done]
    for i in range(size):
        up[i] = rank[up[i]]
    return Elimination(
        rank, start[: done + 1], up[:size].copy(), up_there[:size].copy(), up_back[:size].copy()
    )


@njit(cache=True, nogil=True)
def _lower(found: NDArray, known: NDArray, length: int) -> None:
    """Lower the distances `found` of a vertex to those through one at this length from it."""
    for b in range(AT_ONCE):
        through = known[b] + length
        found[b] = through if through < found[b] else found[b]


@njit(cache=True, nogil=True)
def sweep(order: Elimination, sources: NDArray, distance: NDArray) -> None:
    """Distances from up to eight sources to every place in the order: (n, 8)."""
    rank, start, head, there, back = order
    distance[:] = np.inf
    for b in range(len(sources)):
        distance[rank[sources[b]], b] = 0.0
    for v in range(len(rank)):
        here = distance[v]
        for a in range(start[v], start[v + 1]):
            _lower(distance[head[a]], here, there[a])
    for v in range(len(rank) - 1, -1, -1):
        here = distance[v]
        for a in range(start[v], start[v + 1]):
            _lower(here, distance[head[a]], back[a])


@njit(cache=True, nogil=True)
def swept_rows(order: Elimination, sources: NDArray, targets: NDArray, out: NDArray) -> None:
    """Distances ``out[i, j] = d(sources[i], targets[j])`` of vertices of the graph."""
    distance = np.empty((len(order.rank), AT_ONCE))
    for begin in range(0, len(sources), AT_ONCE):
        count = min(AT_ONCE, len(sources) - begin)
        sweep(order, sources[begin : begin + count], distance)
        for j in range(len(targets)):
            at = order.rank[targets[j]]
            for b in range(count):
                out[begin + b, j] = distance[at, b]
