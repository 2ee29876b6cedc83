"""Kernel density along shortest paths, by bounded searches."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.shortest_paths import bounded_search, workspace


@njit(cache=True, nogil=True)
def net(graph: tuple, radius: int) -> NDArray:
    """A net: all vertices are within `radius` of these, which are farther from each other."""
    n = len(graph[0]) - 1
    space = workspace(len(graph[0]) - 1, len(graph[1]))
    reached = np.empty(n, np.int64)
    covered = np.zeros(n, np.bool_)
    chosen = np.empty(n, np.int64)
    count = 0
    for v in range(n):
        if covered[v]:
            continue
        chosen[count] = v
        count += 1
        for j in range(bounded_search(graph, v, radius, reached, space)):
            covered[space[1][j]] = True
    return chosen[:count].copy()


@njit(cache=True, nogil=True)
def quartic(reached: NDArray, inside: int, width: float) -> None:
    """The kernel (1 - (d / width)²)² of distances, in place, as fixed-point numbers in 2**-30."""
    for j in range(inside):
        share = min(reached[j] / width, 1.0)
        reached[j] = np.int64((1.0 - share * share) ** 2 * 1073741824.0)


@njit(cache=True, nogil=True)
def spread(
    graph: tuple, sources: NDArray, weights: NDArray, lengths: NDArray, width: float, out: NDArray
) -> None:
    """Add to `out` (n_vertices, n_columns) the kernel densities of `weights` (n_sources, n_columns)
    around their sources; summed with `lengths` they are the weights.
    """
    space = workspace(len(graph[0]) - 1, len(graph[1]))
    reached = np.empty(len(graph[0]) - 1, np.int64)
    for s in range(len(sources)):
        inside = bounded_search(graph, sources[s], int(width), reached, space)
        quartic(reached, inside, width)
        whole = 0.0
        for j in range(inside):
            whole += reached[j] * lengths[space[1][j]]
        for j in range(inside):
            factor = reached[j] / whole
            v = space[1][j]
            for c in range(weights.shape[1]):
                out[v, c] += factor * weights[s, c]


@njit(cache=True, nogil=True)
def gathered(graph: tuple, places: NDArray, weights: NDArray, width: float, out: NDArray) -> int:
    """Fill `out` (n_places, n_columns) with kernel-weighted sums of `weights` (n_vertices,
    n_columns) around each place; returns the least number of vertices within `width`.
    """
    n = len(graph[0]) - 1
    space = workspace(len(graph[0]) - 1, len(graph[1]))
    reached = np.empty(n, np.int64)
    least = n
    for i in range(len(places)):
        inside = bounded_search(graph, places[i], int(width), reached, space)
        least = min(least, inside)
        quartic(reached, inside, width)
        out[i] = 0.0
        for j in range(inside):
            for c in range(weights.shape[1]):
                out[i, c] += reached[j] * weights[space[1][j], c]
    return least
