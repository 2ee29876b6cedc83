"""Balls around vertices of a graph, by bounded searches."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.shortest_paths import Workspace, forget, search


@njit(cache=True, nogil=True)
def bounded_search(
    graph: tuple, source: int, radius: int, reached: NDArray, space: Workspace
) -> int:
    """All vertices within `radius` of a source: ``space.touched``, at distances `reached`."""
    count = search(graph, source, radius, len(reached), np.int64(1), space)
    for j in range(count):
        reached[j] = -1 - space.distance[space.touched[j]]
    forget(space, count)
    return count


@njit(cache=True, nogil=True)
def searched_lists(
    graph: tuple, sources: NDArray, radii: NDArray, index: NDArray, most: int, space: tuple
) -> tuple:
    """CSR lists of indexed vertices within a radius of each source, up to `most` entries."""
    touched = space[1]
    reached = np.empty(len(index), np.int64)
    start = np.zeros(len(sources) + 1, np.int64)
    number = np.empty(1024, np.int32)
    distance = np.empty(1024, np.int64)
    for s in range(len(sources)):
        at = start[s]
        found = 0
        if radii[s] >= 0:
            found = bounded_search(graph, sources[s], radii[s], reached, space)
        while at + found > len(number):
            number = np.concatenate((number, np.empty(len(number), np.int32)))
            distance = np.concatenate((distance, np.empty(len(distance), np.int64)))
        for t in range(found):
            if index[touched[t]] >= 0:
                number[at] = index[touched[t]]
                distance[at] = reached[t]
                at += 1
        start[s + 1] = at
        if at > most:
            start[s + 1 :] = at
            break
    return start, number[: start[-1]].copy(), distance[: start[-1]].copy()
