"""One Lloyd-like step on a graph: every center moves to the median of its shortest-path tree."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.heap import heap_drop, heap_push
from metricdp.kernels.shortest_paths import FAR


@njit(cache=True, nogil=True)
def tree_medians(
    indptr: NDArray,
    indices: NDArray,
    lengths: NDArray,
    back: NDArray,
    weights: NDArray,
    power: int,
    centers: NDArray,
    medians: NDArray,
    distance: NDArray,
) -> None:
    """Medians of the shortest-path trees of the centers' Voronoi cells, the first from the root
    among equals; fills `medians` and `distance`.

    Serving a cell from its tree's median costs at most as much as before. With W and S the weight
    and weighted path lengths below a vertex, a step from parent p to child c over length l (reverse
    b) changes the cost by ``b (W_tree - W_c) - l W_c``; for squares by ``b² (W_tree - W_c) + l² W_c
    + 2 b (S_tree(p) - B) - 2 l B``, ``B = S_c + l W_c``.
    """
    n = len(indptr) - 1
    keys = np.empty(len(indices) + len(centers) + 1, np.int64)
    payload = np.empty(len(indices) + len(centers) + 1, np.int64)
    label = np.full(n, -1)
    parent = np.full(n, -1)
    order = np.empty(n, np.int64)
    up = np.zeros(n, np.int64)
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
                distance[v], label[v], parent[v], up[v] = t, label[u], u, back[a]
                size = heap_push(keys, payload, size, t, v)
    below = weights.copy()
    spread = np.zeros(n)
    for j in range(n_settled - 1, -1, -1):
        v = order[j]
        p = parent[order[j]]
        if p >= 0:
            below[p] += below[v]
            spread[p] += spread[v] + (distance[v] - distance[p]) * below[v]
    least, change, seen_from = (
        np.zeros(len(centers)),
        np.zeros(n),
        spread.copy(),
    )  # costs count from the root's
    medians[:] = centers
    for j in range(n_settled):
        v = order[j]
        p = parent[order[j]]
        if p < 0:
            continue
        step = np.float64(distance[v] - distance[p])
        rise = np.float64(up[v])
        others = below[centers[label[v]]] - below[v]
        linear = rise * others - step * below[v]
        seen_from[v] = seen_from[p] + linear
        beyond = spread[v] + step * below[v]
        change[v] = change[p] + (
            linear
            if power == 1
            else rise * rise * others
            + step * step * below[v]
            + 2.0 * (rise * (seen_from[p] - beyond) - step * beyond)
        )
        if change[v] < least[label[v]]:
            least[label[v]] = change[v]
            medians[label[v]] = v
