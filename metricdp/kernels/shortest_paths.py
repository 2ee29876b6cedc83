"""Dijkstra's algorithm from one, many, and pruned sources on a CSR graph with int64 lengths, on a
4-ary min-heap of two preallocated arrays: int64 keys and int64 payloads, lazily deleted.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

FAR = np.int64(2**62)
"""Distance of what was not reached: beyond any path, and safe from overflow."""


@njit(cache=True, nogil=True)
def heap_push(keys: NDArray, payload: NDArray, size: int, key: int, value: int) -> int:
    """Insert (key, value) and return the new size; the arrays must have room."""
    child = size
    while child > 0:
        parent = (child - 1) >> 2
        if keys[parent] <= key:
            break
        keys[child] = keys[parent]
        payload[child] = payload[parent]
        child = parent
    keys[child] = key
    payload[child] = value
    return size + 1


@njit(cache=True, nogil=True)
def heap_pop(keys: NDArray, payload: NDArray, size: int) -> tuple[int, int, int]:
    """Remove the smallest entry: its key and value, and the new size."""
    size -= 1
    least, first = keys[0], payload[0]
    key, value = keys[size], payload[size]
    hole = 0
    while True:
        child = 4 * hole + 1
        if child >= size:
            break
        best = child
        last = min(child + 4, size)
        for other in range(child + 1, last):
            if keys[other] < keys[best]:
                best = other
        if keys[best] >= key:
            break
        keys[hole] = keys[best]
        payload[hole] = payload[best]
        hole = best
    keys[hole] = key
    payload[hole] = value
    return least, first, size


class Workspace(NamedTuple):
    """Arrays of `search`: `distance`, ``-1 - d`` of settled vertices and else `FAR`; `touched`, the
    settled ones by distance; a heap; `wanted`, set by the caller.
    """

    distance: NDArray
    touched: NDArray
    keys: NDArray
    payload: NDArray
    wanted: NDArray


@njit(cache=True, nogil=True)
def workspace(n: int, n_arcs: int) -> Workspace:
    """Work space for a graph of n vertices; nothing is wanted."""
    return Workspace(
        np.full(n, FAR),
        np.empty(n, np.int64),
        np.empty(n_arcs + 1, np.int64),
        np.empty(n_arcs + 1, np.int64),
        np.zeros(n, np.int32),
    )


@njit(cache=True, nogil=True)
def search(
    graph: tuple, source: int, radius: int, most: int, remaining: int, space: Workspace
) -> int:
    """Settle the vertices within `radius`, nearest first, up to `most` of them, until their
    ``space.wanted`` add up to `remaining`. Returns how many. `forget` must follow.
    """
    indptr, indices, lengths = graph
    distance, touched, keys, payload, wanted = space
    size = heap_push(keys, payload, np.int64(0), np.int64(0), source)
    distance[source] = 0
    count = 0
    while size > 0 and count < most and remaining > 0:
        d, u, size = heap_pop(keys, payload, size)
        if d > distance[u]:
            continue
        touched[count] = u
        count += 1
        remaining -= wanted[u]
        distance[u] = -1 - d  # below all keys: never pushed again
        for a in range(indptr[u], indptr[u + 1]):
            v = indices[a]
            t = d + lengths[a]
            if t <= radius and t < distance[v]:
                distance[v] = t
                size = heap_push(keys, payload, size, t, np.int64(v))
    for j in range(size):
        if distance[payload[j]] >= 0:
            distance[payload[j]] = FAR
    return count


@njit(cache=True, nogil=True)
def forget(space: Workspace, count: int) -> None:
    """Reset what a search wrote that settled `count` vertices."""
    for j in range(count):
        space.distance[space.touched[j]] = FAR


@njit(cache=True, nogil=True)
def distance_rows(
    graph: tuple, sources: NDArray, targets: NDArray, every_target: bool, out: NDArray
) -> None:
    """Exact distances ``out[i, j] = d(sources[i], targets[j])``, to all vertices with
    `every_target`. Otherwise a search ends at its last target, and costs as much as that ball.
    """
    n = len(graph[0]) - 1
    space = workspace(n, len(graph[1]))
    for j in range(len(targets)):
        space.wanted[targets[j]] += 1
    for i in range(len(sources)):
        count = search(graph, sources[i], FAR, n, n + 1 if every_target else len(targets), space)
        for j in range(out.shape[1]):
            there = space.distance[j if every_target else targets[j]]
            out[i, j] = FAR if there == FAR else -1 - there
        forget(space, count)


@njit(cache=True, nogil=True)
def add_sources(
    graph: tuple, sources: NDArray, first_label: int, distance: NDArray, label: NDArray, heap: tuple
) -> int:
    """Add sources to a Voronoi diagram, labeled ``first_label + i``: vertices strictly closer to
    one get its distance and label. Returns the number of vertices visited. `heap`: keys and
    payload, of ``n_arcs + len(sources)`` entries each.
    """
    indptr, indices, lengths = graph
    keys, payload = heap
    size = np.int64(0)
    for i in range(len(sources)):
        if distance[sources[i]] > 0:
            distance[sources[i]] = 0
            label[sources[i]] = first_label + i
            size = heap_push(keys, payload, size, np.int64(0), sources[i])
    entered = 0
    while size > 0:
        d, u, size = heap_pop(keys, payload, size)
        if d > distance[u]:
            continue
        entered += 1
        for a in range(indptr[u], indptr[u + 1]):
            v = indices[a]
            t = d + lengths[a]
            if t < distance[v]:
                distance[v] = t
                label[v] = label[u]
                size = heap_push(keys, payload, size, t, np.int64(v))
    return entered


@njit(cache=True, nogil=True)
def sample_by_distance(
    graph: tuple, weights: NDArray, seed: int, power: int, k: int
) -> tuple[NDArray, NDArray, NDArray]:
    """k-median++ (power 1) or k-means++ (power 2) seeding by incremental pruned searches (Arthur &
    Vassilvitskii, SODA 2007): k centers, and label and distance of every vertex.

    When all weight is at distance 0, the next center is another vertex. Draws come from cumulative
    sums that are recomputed as k grows by a quarter, with exact rejection. O(n log k) plus the
    searches.
    """
    n = len(graph[0]) - 1
    np.random.seed(seed % 2**32)  # noqa: NPY002  the compiled generator, one a thread
    heap = np.empty(len(graph[1]) + 1, np.int64), np.empty(len(graph[1]) + 1, np.int64)
    chosen, centers = np.zeros(n, np.bool_), np.empty(k, np.int64)
    distance, label = np.full(n, FAR), np.full(n, -1)
    one = np.empty(1, np.int64)
    old_weight = np.empty(n, np.float64)
    sums = np.empty(n, np.float64)
    next_renewal = 0
    free = 0
    for i in range(k):
        pick = -1
        rejected = 0
        while pick < 0:
            if i >= next_renewal or rejected > 32:
                total = 0.0
                for v in range(n):
                    old_weight[v] = (
                        weights[v] if i == 0 else weights[v] * np.float64(distance[v]) ** power
                    )
                    total += old_weight[v]
                    sums[v] = total
                next_renewal = i + 1 + i // 4
                rejected = 0
            if sums[n - 1] <= 0:
                break
            v = min(np.searchsorted(sums, np.random.random() * sums[n - 1], side="right"), n - 1)  # noqa: NPY002
            new_weight = old_weight[v] if i == 0 else weights[v] * np.float64(distance[v]) ** power
            if np.random.random() * old_weight[v] < new_weight:  # noqa: NPY002
                pick = v
            rejected += 1
        if pick < 0 or chosen[pick]:
            next_renewal = i + 1
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
            add_sources(graph, one, i, distance, label, heap)
        label[pick] = i  # also where another center stands at distance 0
    return centers, label, distance


@njit(cache=True, nogil=True)
def returns(
    graph: tuple, sources: NDArray, first: NDArray, targets: NDArray, most: int, out: NDArray
) -> None:
    """Fill `out`: distances from sources to targets among the `most` nearest vertices."""
    space = workspace(len(graph[0]) - 1, len(graph[1]))
    for i in range(len(sources)):
        mine = targets[first[i] : first[i + 1]]
        space.wanted[mine] = 1
        count = search(graph, sources[i], FAR, most, len(mine), space)
        for j in range(len(mine)):
            if space.distance[mine[j]] < 0:
                out[first[i] + j] = -1 - space.distance[mine[j]]
        space.wanted[mine] = 0
        forget(space, count)


@njit(cache=True, nogil=True)
def balls(graph: tuple, centers: NDArray, most: int, uniforms: NDArray, stamp: NDArray) -> NDArray:
    """Random vertices, by `uniforms` (k, sample), of the `most` nearest in hops to each center.
    `stamp` (n,): work space.
    """
    indptr, indices, _ = graph
    drawn = np.empty(uniforms.size, np.int64)
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
    return drawn[:count]


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
