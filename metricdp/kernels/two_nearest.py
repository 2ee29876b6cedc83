"""Nearest and second-nearest centers of every vertex of a graph, built and repaired by one kernel; exact swap gains by pruned searches.

Slots number the centers 0..k-1: a swap gives one slot another vertex.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.heap import heap_drop, heap_push
from metricdp.kernels.shortest_paths import FAR

NOBODY = np.int32(-1)


@njit(cache=True, nogil=True)
def repair_two_nearest(
    indptr: NDArray,
    indices: NDArray,
    lengths: NDArray,
    moved: NDArray,
    centers: NDArray,
    first: NDArray,
    second: NDArray,
    d_first: NDArray,
    d_second: NDArray,
    keys: NDArray,
    payload: NDArray,
) -> None:
    """Bring (first, second) nearest slots and distances up to date after the centers of some slots moved.

    Parameters
    ----------
    moved : ndarray of bool, shape (k,)
        The slots whose center is new; what `first` and `second` say of them is forgotten. To build from nothing, mark all slots and fill
        the labels with NOBODY and the distances with FAR.
    centers : ndarray of int64, shape (k,)
        The vertex of each slot.
    first, second : ndarray of int32, shape (n_points,)
    d_first, d_second : ndarray of int64, shape (n_points,)
        ``d_first <= d_second``, labels differ; NOBODY and FAR where there is none (k = 1).
    keys, payload : work space, at least ``4·n_arcs + k`` entries each.

    Notes
    -----
    A label among the two nearest of v is among the two nearest of every vertex on its shortest path to v, so a Dijkstra search in which a
    vertex accepts at most two different labels finds both. After a swap only vertices that lost a label, or that the new center reaches
    within their second distance, are entered: about 4·n/k of them.
    """
    n = len(indptr) - 1
    size = 0
    lost = 0
    for v in range(n):
        if first[v] != NOBODY and moved[first[v]]:
            first[v], d_first[v] = second[v], d_second[v]
            second[v], d_second[v] = NOBODY, FAR
        if first[v] != NOBODY and moved[first[v]]:
            first[v], d_first[v] = NOBODY, FAR
        if second[v] != NOBODY and moved[second[v]]:
            second[v], d_second[v] = NOBODY, FAR
        lost += second[v] == NOBODY
    if lost < n or not moved.all():
        for v in range(n):
            if second[v] != NOBODY:
                continue
            for a in range(indptr[v], indptr[v + 1]):
                u = indices[a]
                if first[u] != NOBODY and first[u] != first[v]:
                    size = heap_push(keys, payload, size, d_first[u] + lengths[a], np.int64(first[u]) * n + v)
                if second[u] != NOBODY and second[u] != first[v]:
                    size = heap_push(keys, payload, size, d_second[u] + lengths[a], np.int64(second[u]) * n + v)
    for i in range(len(centers)):  # also those that stay: where two others lie at distance 0, a center's own vertex had no room for it
        size = heap_push(keys, payload, size, 0, i * n + centers[i])
    while size > 0:
        d = keys[0]
        v = payload[0] % n
        slot = np.int32(payload[0] // n)
        size = heap_drop(keys, payload, size)
        if first[v] == slot or d >= d_second[v]:
            continue
        if d < d_first[v]:
            second[v], d_second[v] = first[v], d_first[v]
            first[v], d_first[v] = slot, d
        else:
            second[v], d_second[v] = slot, d
        for a in range(indptr[v], indptr[v + 1]):
            u = indices[a]
            if d + lengths[a] < d_second[u] and first[u] != slot:
                size = heap_push(keys, payload, size, d + lengths[a], np.int64(slot) * n + u)


@njit(cache=True, nogil=True, inline="always")
def path_cost(distance: int, unit: float, power: int) -> float:
    """Cost of serving one unit of demand at this grid distance: (unit · distance)**power, and 0 for FAR (no second center)."""
    if distance == FAR:
        return 0.0
    d = distance * unit
    return d * d if power == 2 else d


@njit(cache=True, nogil=True)
def removal_losses(
    first: NDArray, d_first: NDArray, d_second: NDArray, weights: NDArray, unit: float, power: int, losses: NDArray
) -> float:
    """Fill ``losses[i]`` with the cost added by closing slot i, and return the current cost. O(n)."""
    losses[:] = 0.0
    cost = 0.0
    for v in range(len(first)):
        near = path_cost(d_first[v], unit, power)
        cost += weights[v] * near
        losses[first[v]] += weights[v] * (path_cost(d_second[v], unit, power) - near)
    return cost


@njit(cache=True, nogil=True)
def swap_changes(
    indptr: NDArray,
    indices: NDArray,
    lengths: NDArray,
    weights: NDArray,
    unit: float,
    power: int,
    candidates: NDArray,
    first: NDArray,
    d_first: NDArray,
    d_second: NDArray,
    losses: NDArray,
    distance: NDArray,
    touched: NDArray,
    keys: NDArray,
    payload: NDArray,
    slots: NDArray,
    changes: NDArray,
) -> None:
    """For each candidate the slot it had best replace, and the exact change of cost.

    The change is known for all k slots at once: a candidate matters only to vertices closer to it than their second-nearest center, so one
    search pruned there, about 2·n/k vertices, finds it (the decomposition of Resende & Werneck, EJOR 2007, and FastPAM1, Schubert &
    Rousseeuw, Inf. Syst. 2021). `distance` (FAR everywhere) is left as found.
    """
    k = len(losses)
    change = np.empty(k, np.float64)
    for index in range(len(candidates)):
        source = candidates[index]
        change[:] = losses
        shared = 0.0
        size = heap_push(keys, payload, 0, 0, source)
        distance[source] = 0
        touched[0] = source
        n_touched = 1
        while size > 0:
            d = keys[0]
            v = payload[0]
            size = heap_drop(keys, payload, size)
            if d > distance[v]:
                continue
            if weights[v] != 0.0:
                new, near, far = path_cost(d, unit, power), path_cost(d_first[v], unit, power), path_cost(d_second[v], unit, power)
                if d < d_first[v]:
                    shared += weights[v] * (new - near)
                    change[first[v]] += weights[v] * (near - far)
                elif d < d_second[v]:
                    change[first[v]] += weights[v] * (new - far)
            for a in range(indptr[v], indptr[v + 1]):
                u = indices[a]
                t = d + lengths[a]
                if t < distance[u] and t < d_second[u]:
                    if distance[u] == FAR:
                        touched[n_touched] = u
                        n_touched += 1
                    distance[u] = t
                    size = heap_push(keys, payload, size, t, u)
        for j in range(n_touched):
            distance[touched[j]] = FAR
        slots[index] = np.argmin(change)
        changes[index] = shared + change[slots[index]]
