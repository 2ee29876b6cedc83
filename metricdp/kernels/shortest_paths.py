"""Dijkstra's algorithm from one, many, and pruned sources on a CSR graph with int64 lengths."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.heap import FAR as FAR
from metricdp.kernels.heap import heap_drop, heap_push


@njit(cache=True, nogil=True)
def distance_rows(
    indptr: NDArray,
    indices: NDArray,
    lengths: NDArray,
    sources: NDArray,
    targets: NDArray,
    every_target: bool,
    out: NDArray,
) -> None:
    """Exact distances ``out[i, j] = d(sources[i], targets[j])``, to all vertices with
    `every_target`. Otherwise a search ends at its last target, and costs as much as that ball.
    """
    n = len(indptr) - 1
    keys = np.empty(len(indices) + 1, np.int64)
    payload = np.empty(len(indices) + 1, np.int64)
    distance = np.full(n, FAR)
    touched = np.empty(n, np.int64)
    wanted = np.zeros(n, np.int32)
    for j in range(0 if every_target else len(targets)):
        wanted[targets[j]] += 1
    for i in range(len(sources)):
        remaining = n if every_target else len(targets)
        size = heap_push(keys, payload, 0, 0, sources[i])
        distance[sources[i]] = 0
        touched[0] = sources[i]
        n_touched = 1
        while size > 0 and remaining > 0:
            d = keys[0]
            u = payload[0]
            size = heap_drop(keys, payload, size)
            if d > distance[u]:
                continue
            remaining -= 1 if every_target else wanted[u]
            for a in range(indptr[u], indptr[u + 1]):
                v = indices[a]
                t = d + lengths[a]
                if t < distance[v]:
                    if distance[v] == FAR:
                        touched[n_touched] = v
                        n_touched += 1
                    distance[v] = t
                    size = heap_push(keys, payload, size, t, v)
        if every_target:
            for v in range(n):
                out[i, v] = distance[v]
        else:
            for j in range(len(targets)):
                out[i, j] = distance[targets[j]]
        for j in range(n_touched):
            distance[touched[j]] = FAR


@njit(cache=True, nogil=True)
def add_sources(
    indptr: NDArray,
    indices: NDArray,
    lengths: NDArray,
    sources: NDArray,
    first_label: int,
    distance: NDArray,
    label: NDArray,
    keys: NDArray,
    payload: NDArray,
) -> int:
    """Insert sources into a Voronoi diagram, labeled ``first_label + i``: vertices strictly closer
    to one get its distance and label. Returns the number of vertices entered. `keys`, `payload`
    need ``n_arcs + len(sources)`` entries.
    """
    size = 0
    for i in range(len(sources)):
        if distance[sources[i]] > 0:
            distance[sources[i]] = 0
            label[sources[i]] = first_label + i
            size = heap_push(keys, payload, size, 0, sources[i])
    entered = 0
    while size > 0:
        d = keys[0]
        u = payload[0]
        size = heap_drop(keys, payload, size)
        if d > distance[u]:
            continue
        entered += 1
        for a in range(indptr[u], indptr[u + 1]):
            v = indices[a]
            t = d + lengths[a]
            if t < distance[v]:
                distance[v] = t
                label[v] = label[u]
                size = heap_push(keys, payload, size, t, v)
    return entered


@njit(cache=True, nogil=True)
def sample_by_distance(
    indptr: NDArray,
    indices: NDArray,
    lengths: NDArray,
    weights: NDArray,
    seed: int,
    power: int,
    distance: NDArray,
    label: NDArray,
    centers: NDArray,
) -> None:
    """k-median++ (power 1) or k-means++ (power 2) seeding by incremental pruned searches (Arthur &
    Vassilvitskii, SODA 2007); fills `centers` (k,) and their Voronoi diagram.

    When all weight is at distance 0, the next center is another vertex. Draws come from cumulative
    sums that are renewed as k grows by a quarter, with exact rejection. O(n log k) plus the
    searches.
    """
    n = len(indptr) - 1
    np.random.seed(seed % 2**32)  # noqa: NPY002  the compiled generator, one a thread
    keys = np.empty(len(indices) + 1, np.int64)
    payload = np.empty(len(indices) + 1, np.int64)
    chosen = np.zeros(n, np.bool_)
    distance[:] = FAR
    label[:] = -1
    one = np.empty(1, np.int64)
    then = np.empty(n, np.float64)
    mass = np.empty(n, np.float64)
    renew = 0
    free = 0
    for i in range(len(centers)):
        pick = -1
        rejected = 0
        while pick < 0:
            if i >= renew or rejected > 32:
                total = 0.0
                for v in range(n):
                    then[v] = (
                        weights[v] if i == 0 else weights[v] * np.float64(distance[v]) ** power
                    )
                    total += then[v]
                    mass[v] = total
                renew = i + 1 + i // 4
                rejected = 0
            if mass[n - 1] <= 0:
                break
            v = min(np.searchsorted(mass, np.random.random() * mass[n - 1], side="right"), n - 1)  # noqa: NPY002
            now = then[v] if i == 0 else weights[v] * np.float64(distance[v]) ** power
            if np.random.random() * then[v] < now:  # noqa: NPY002
                pick = v
            rejected += 1
        if pick < 0 or chosen[pick]:
            renew = i + 1
            pick = -1
            for v in range(n):
                if not chosen[v] and distance[v] > 0:
                    pick = v
                    break
            while pick < 0 and chosen[free]:
                free += 1
            pick = free if pick < 0 else pick
        chosen[pick] = True
        centers[i] = pick
        one[0] = pick
        if distance[pick] > 0:
            add_sources(indptr, indices, lengths, one, i, distance, label, keys, payload)
        label[pick] = i  # also where another center stands at distance 0


@njit(cache=True, nogil=True)
def boundary_arcs(
    indptr: NDArray,
    indices: NDArray,
    lengths: NDArray,
    distance: NDArray,
    home: NDArray,
    label: NDArray,
) -> tuple[NDArray, NDArray, NDArray]:
    """Arcs between Voronoi cells: (cell, cell, length of the path between their centers through
    that arc), in the order of the path.

    `distance` is that from each vertex's center, `home` that back to it.
    """
    count = 0
    for u in range(len(indptr) - 1):
        for a in range(indptr[u], indptr[u + 1]):
            count += label[u] != label[indices[a]]
    tails = np.empty(count, np.int64)
    heads = np.empty(count, np.int64)
    through = np.empty(count, np.int64)
    count = 0
    for u in range(len(indptr) - 1):
        for a in range(indptr[u], indptr[u + 1]):
            v = indices[a]
            if label[u] != label[v]:
                tails[count], heads[count] = label[u], label[v]
                through[count] = distance[u] + lengths[a] + home[v]
                count += 1
    return tails, heads, through


@njit(cache=True, nogil=True)
def ways_home(
    indptr: NDArray,
    indices: NDArray,
    back: NDArray,
    centers: NDArray,
    label: NDArray,
    distance: NDArray,
) -> None:
    """Fill `distance` from every vertex back to its center inside its cell, or FAR."""
    distance[:] = FAR
    keys = np.empty(len(indices) + len(centers), np.int64)
    payload = np.empty(len(indices) + len(centers), np.int64)
    size = 0
    for i in range(len(centers)):
        distance[centers[i]] = 0
        size = heap_push(keys, payload, size, 0, centers[i])
    while size > 0:
        d = keys[0]
        u = payload[0]
        size = heap_drop(keys, payload, size)
        if d > distance[u]:
            continue
        for a in range(indptr[u], indptr[u + 1]):
            v = indices[a]
            if label[v] == label[u] and d + back[a] < distance[v]:
                distance[v] = d + back[a]
                size = heap_push(keys, payload, size, d + back[a], v)


@njit(cache=True, nogil=True)
def returns(
    indptr: NDArray,
    indices: NDArray,
    lengths: NDArray,
    sources: NDArray,
    first: NDArray,
    targets: NDArray,
    most: int,
    out: NDArray,
) -> None:
    """Distances from each source to its targets, if among the `most` nearest vertices."""
    n = len(indptr) - 1
    keys = np.empty(len(indices) + 1, np.int64)
    payload = np.empty(len(indices) + 1, np.int64)
    distance = np.full(n, FAR)
    slot = np.full(n, -1, np.int64)
    touched = np.empty(n, np.int64)
    for i in range(len(sources)):
        for j in range(first[i], first[i + 1]):
            slot[targets[j]] = j
        size = heap_push(keys, payload, 0, 0, sources[i])
        distance[sources[i]] = 0
        touched[0] = sources[i]
        n_touched = 1
        settled = 0
        remaining = first[i + 1] - first[i]
        while size > 0 and remaining > 0 and settled < most:
            d = keys[0]
            u = payload[0]
            size = heap_drop(keys, payload, size)
            if d > distance[u]:
                continue
            settled += 1
            if slot[u] >= 0:
                out[slot[u]] = d
                remaining -= 1
            for a in range(indptr[u], indptr[u + 1]):
                v = indices[a]
                t = d + lengths[a]
                if t < distance[v]:
                    if distance[v] == FAR:
                        touched[n_touched] = v
                        n_touched += 1
                    distance[v] = t
                    size = heap_push(keys, payload, size, t, v)
        for j in range(first[i], first[i + 1]):
            slot[targets[j]] = -1
        for j in range(n_touched):
            distance[touched[j]] = FAR


@njit(cache=True, nogil=True)
def balls(
    indptr: NDArray,
    indices: NDArray,
    centers: NDArray,
    most: int,
    uniforms: NDArray,
    stamp: NDArray,
    drawn: NDArray,
) -> int:
    """For each center up to `sample` of the `most` vertices nearest in hops, by `uniforms`."""
    stamp[:] = -1
    ball = np.empty(most + 1, np.int64)
    count = 0
    for i in range(len(centers)):
        ball[0] = centers[i]
        size = 1
        at = 0
        stamp[centers[i]] = i
        while at < size and size <= most:
            for a in range(indptr[ball[at]], indptr[ball[at] + 1]):
                u = indices[a]
                if stamp[u] != i and size <= most:
                    stamp[u] = i
                    ball[size] = u
                    size += 1
            at += 1
        for j in range(min(uniforms.shape[1], size - 1)):
            pick = j + 1 + int(uniforms[i, j] * (size - 1 - j))
            ball[j + 1], ball[pick] = ball[pick], ball[j + 1]
            drawn[count] = ball[j + 1]
            count += 1
    return count
