"""Sums over the balls of many neighboring vertices, by one vectorized search for all."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.copying import copy_into
from metricdp.kernels.shortest_paths import bounded_search

LANES = 64
"""Sources that are searched together: a row of their distances fills a few vector registers."""
_WINDOW = 128
"""Vertices whose distances settle before those after them are visited: each correction would have
to be propagated again.
"""
_FAR, _ONE, _NONE = np.float32(1e30), np.float32(1.0), np.float32(0.0)


@njit(cache=True, nogil=True, fastmath={"nnan", "reassoc", "nsz"})
def _relax_arcs(
    start: NDArray, head: NDArray, length: NDArray, distance: NDArray, changed: NDArray
) -> None:
    """Relax the arcs of `changed` vertices, ``distance[v]`` (n, LANES), until nothing changes."""
    n = len(start) - 1
    low = 0
    while low < n:
        end = min(low + _WINDOW, n)
        back = end
        for u in range(low, end):
            if not changed[u]:
                continue
            changed[u] = False
            own = distance[u]
            for a in range(start[u], start[u + 1]):
                v = head[a]
                step = length[a]
                other = distance[v]
                better = _NONE
                for s in range(LANES):
                    along = own[s] + step
                    before = other[s]
                    least = along if along < before else before
                    better += _ONE if along < before else _NONE  # a count: sums of _FAR lose digits
                    other[s] = least
                if better > 0:
                    changed[v] = True
                    back = min(back, v)
        low = back


@njit(cache=True, nogil=True)
def _lane_sums(distance: NDArray, radius: float, amounts: NDArray, total: NDArray) -> None:
    """Fill `total` (LANES,) with the amounts within the radius of each source."""
    total[:] = 0.0
    for v in range(len(amounts)):
        amount = amounts[v]
        for s in range(LANES):
            total[s] += amount * (distance[v, s] <= radius)


@njit(cache=True, nogil=True)
def ball_sums(
    graph: tuple,
    center: int,
    sources: NDArray,
    around: int,
    radius: int,
    shift: int,
    amounts: NDArray,
    slot: NDArray,
    reached: NDArray,
    space: tuple,
) -> NDArray:
    """Sum of `amounts` (n,) within `radius` of each source.

    The balls of all sources lie within `around` of `center`. `slot` (n,) holds -1, also afterwards;
    `reached`, `space`: as in `bounded_search`. Lengths and radius are divided by 2**`shift`,
    rounded down: if the radius is below 2**24 then, distances up to it are exact, and nothing
    within the radius is lost.
    """
    indptr, indices, lengths = graph
    n = bounded_search(graph, center, around, reached, space)
    touched = space[1]
    n_arcs = 0
    for i in range(n):
        slot[touched[i]] = i
        n_arcs += indptr[touched[i] + 1] - indptr[touched[i]]
    # The subgraph around the center, renumbered by distance from it.
    start, amount = np.empty(n + 1, np.int32), np.empty(n)
    head, length = np.empty(n_arcs, np.int32), np.empty(n_arcs, np.float32)
    at = 0
    for i in range(n):
        u = touched[i]
        start[i], amount[i] = at, amounts[u]
        for a in range(indptr[u], indptr[u + 1]):
            if slot[indices[a]] >= 0:
                head[at], length[at] = slot[indices[a]], lengths[a] >> shift
                at += 1
    start[n] = at
    distance = np.empty((n, LANES), np.float32)
    changed = np.zeros(n, np.bool_)
    total, lane_sums = np.empty(len(sources)), np.empty(LANES)
    for first in range(0, len(sources), LANES):
        size = min(LANES, len(sources) - first)
        distance[:] = _FAR
        for s in range(size):
            distance[slot[sources[first + s]], s] = 0.0
            changed[slot[sources[first + s]]] = True
        _relax_arcs(start, head, length, distance, changed)
        _lane_sums(distance, radius >> shift, amount, lane_sums)
        copy_into(total[first:], lane_sums[:size])
    for i in range(n):
        slot[touched[i]] = -1
    return total
