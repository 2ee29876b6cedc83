"""One Lloyd-like step on a graph: every center moves to the median of its shortest-path tree."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.heap import heap_drop, heap_push
from metricdp.kernels.shortest_paths import FAR


@njit(cache=True, nogil=True)
def tree_medians(
    indptr: NDArray, indices: NDArray, lengths: NDArray, weights: NDArray, centers: NDArray, medians: NDArray, distance: NDArray
) -> None:
    """Medians of the shortest-path trees that the centers' Voronoi cells hang on.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_points,)
        Non-negative.
    centers : ndarray of int64, shape (k,)
    medians : ndarray of int64, shape (k,)
        Filled: the vertex of center i's tree below which more than half of the tree's weight lies, farthest from the root.
    distance : ndarray of int64, shape (n_points,)
        Filled: distance to the nearest center.

    Notes
    -----
    Path lengths in the tree are those of the graph from its root and no shorter elsewhere, so serving a cell from its tree's median costs
    at most what serving it from the center did: the k-median cost never rises. One multi-source Dijkstra search and O(n).
    """
    n = len(indptr) - 1
    keys = np.empty(len(indices) + len(centers) + 1, np.int64)
    payload = np.empty(len(indices) + len(centers) + 1, np.int64)
    label = np.full(n, -1)
    parent = np.full(n, -1)
    order = np.empty(n, np.int64)
    settled = np.zeros(n, np.bool_)
    distance[:] = FAR
    size = 0
    for i in range(len(centers)):
        if distance[centers[i]] > 0:
            distance[centers[i]] = 0
            label[centers[i]] = i
            size = heap_push(keys, payload, size, 0, centers[i])
    n_settled = 0
    while size > 0:
        u = payload[0]
        size = heap_drop(keys, payload, size)
        if settled[u]:
            continue
        settled[u] = True
        order[n_settled] = u
        n_settled += 1
        for a in range(indptr[u], indptr[u + 1]):
            v = indices[a]
            t = distance[u] + lengths[a]
            if t < distance[v]:
                distance[v], label[v], parent[v] = t, label[u], u
                size = heap_push(keys, payload, size, t, v)
    below = weights.copy()
    for j in range(n_settled - 1, -1, -1):
        if parent[order[j]] >= 0:
            below[parent[order[j]]] += below[order[j]]
    medians[:] = centers
    for j in range(n_settled):  # parents come first, so heavy vertices follow the heavy path outward
        v = order[j]
        if parent[v] >= 0 and parent[v] == medians[label[v]] and 2.0 * below[v] > below[centers[label[v]]]:
            medians[label[v]] = v
