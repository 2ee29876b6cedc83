"""The transportation problem with few sites: who is served where, when sites are full.

Everybody starts at the cheapest site. While one is too full, load moves along the cheapest chain of
sites to one with room (successive shortest paths; Ahuja, Magnanti & Orlin, 1993, chapter 9).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def _start(costs: NDArray, loads: NDArray, flow: NDArray, used: NDArray) -> float:
    """Everybody at the cheapest site; the load in all."""
    flow[:] = 0.0
    total = 0.0
    for j in range(costs.shape[1]):
        best = np.argmin(costs[:, j])
        flow[best, j] = loads[j]
        used[best] += loads[j]
        total += loads[j]
    return total


@njit(cache=True, nogil=True)
def _offer(costs: NDArray, a: int, j: int, who: NDArray, change: NDArray) -> None:
    """Client j is at site a: to every other site it moves, if that is cheapest."""
    for b in range(len(costs)):
        more = costs[b, j] - costs[a, j]
        if more < change[a, b] and b != a:
            who[a, b], change[a, b] = j, more


@njit(cache=True, nogil=True)
def _move(
    costs: NDArray,
    who: NDArray,
    change: NDArray,
    flow: NDArray,
    before: NDArray,
    source: int,
    target: int,
    amount: float,
    loads: NDArray,
    stale: NDArray,
) -> float:
    """Move load along a chain; sites that a client left are `stale`."""
    b = target
    steps = 0
    while b != source:
        steps += 1
        if steps > len(before):
            return 0.0
        a = before[b]
        amount = min(amount, flow[a, who[a, b]])
        b = a
    b = target
    while b != source:
        a = before[b]
        j = who[a, b]
        flow[b, j] += amount
        _offer(costs, b, j, who, change)
        flow[a, j] -= amount
        if flow[a, j] <= 1e-14 * loads[j]:
            flow[a, j] = 0.0
            stale[a] = True
        b = a
    return amount


@njit(cache=True, nogil=True)
def transport(costs: NDArray, loads: NDArray, room: NDArray, flow: NDArray) -> bool:
    """Cheapest service of all loads within the sites' room: fills `flow`."""
    k = len(costs)
    used = np.zeros(k)
    equal = 1e-11 * costs.max()  # above rounding: chains of no gain would go in circles
    slack = 1e-12 * _start(costs, loads, flow, used)
    if used.sum() > room.sum() * (1 + 1e-9):
        return False
    # of each site, for every other one, the client who moves there at least cost, and that cost
    who, change = np.empty((k, k), np.int64), np.empty((k, k))
    stale = np.ones(k, np.bool_)
    distance, before = np.empty(k), np.empty(k, np.int64)
    while True:
        source = np.argmax(used - room)
        if used[source] <= room[source] + slack:
            return True
        distance[:] = np.inf
        distance[source] = 0.0
        for _ in range(k):
            changed = False
            for a in range(k):
                if distance[a] == np.inf:
                    continue
                if stale[a]:
                    stale[a] = False
                    change[a] = np.inf
                    for j in np.flatnonzero(flow[a] > 0.0):
                        _offer(costs, a, j, who, change)
                for b in range(k):
                    reach = distance[a] + change[a, b]
                    if reach < distance[b] - equal:
                        distance[b] = reach
                        before[b] = a
                        changed = True
            if not changed:
                break
        target = -1
        for i in range(k):
            has_room = used[i] < room[i] - slack and distance[i] < np.inf
            if has_room and (target < 0 or distance[i] < distance[target]):
                target = i
        if target < 0:
            return used[source] <= room[source] * (1 + 1e-9)
        amount = min(used[source] - room[source], room[target] - used[target])
        amount = _move(costs, who, change, flow, before, source, target, amount, loads, stale)
        if amount <= 0.0:
            return False
        used[source] -= amount
        used[target] += amount
