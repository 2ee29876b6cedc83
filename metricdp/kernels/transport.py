"""The transportation problem with few sites: who is served where, when sites are full.

Everybody starts at the cheapest site. While one is too full, load moves along the cheapest chain of
sites to one with room (successive shortest paths; Ahuja, Magnanti & Orlin, 1993, chapter 9).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def _merge(a: int, b: int, keys: NDArray, left: NDArray, right: NDArray) -> int:
    """Join two skew heaps of nodes; the root of both."""
    if a < 0:
        return b
    if b < 0:
        return a
    if keys[b] < keys[a]:
        a, b = b, a
    root, last = a, a
    a = right[a]
    while a >= 0 and b >= 0:
        if keys[b] < keys[a]:
            a, b = b, a
        right[last] = left[last]
        left[last] = a
        last = a
        a = right[a]
    right[last] = left[last]
    left[last] = a if a >= 0 else b
    return root


@njit(cache=True, nogil=True)
def _pushed(
    pool: tuple, count: int, heads: NDArray, costs: NDArray, site: int, j: int
) -> tuple[tuple, int]:
    """Client j is now at `site`: note what moving it to every other site costs."""
    keys, client, left, right = pool
    k = len(heads)
    if count + k > len(keys):
        more = len(keys)
        keys = np.concatenate((keys, np.empty(more)))
        client = np.concatenate((client, np.empty(more, np.int32)))
        left = np.concatenate((left, np.empty(more, np.int32)))
        right = np.concatenate((right, np.empty(more, np.int32)))
    for b in range(k):
        if b != site:
            keys[count] = costs[b, j] - costs[site, j]
            client[count] = j
            left[count] = -1
            right[count] = -1
            heads[site, b] = _merge(heads[site, b], count, keys, left, right)
            count += 1
    return (keys, client, left, right), count


@njit(cache=True, nogil=True)
def _cheapest(pool: tuple, heads: NDArray, flow: NDArray, a: int, b: int) -> int:
    """Node of the client at site a that moves to b at least cost; -1 if there is none."""
    keys, client, left, right = pool
    head = heads[a, b]
    while head >= 0 and flow[a, client[head]] <= 0.0:
        head = _merge(left[head], right[head], keys, left, right)
    heads[a, b] = head
    return head


@njit(cache=True, nogil=True)
def _start(costs: NDArray, loads: NDArray, flow: NDArray, used: NDArray) -> float:
    """Everybody at the cheapest site; the load in all."""
    flow[:] = 0.0
    total = 0.0
    for j in range(costs.shape[1]):
        best = 0
        for i in range(1, len(costs)):
            if costs[i, j] < costs[best, j]:
                best = i
        flow[best, j] = loads[j]
        used[best] += loads[j]
        total += loads[j]
    return total


@njit(cache=True, nogil=True)
def _move(
    pool: tuple,
    heads: NDArray,
    flow: NDArray,
    before: NDArray,
    source: int,
    target: int,
    amount: float,
    loads: NDArray,
    came: NDArray,
) -> float:
    """Move load along a chain; `came` gets the client that came to each site and was not there."""
    client = pool[1]
    b = target
    steps = 0
    while b != source:
        steps += 1
        if steps > len(before):
            return 0.0
        a = before[b]
        amount = min(amount, flow[a, client[heads[a, b]]])
        b = a
    b = target
    came[:] = -1
    while b != source:
        a = before[b]
        j = client[heads[a, b]]
        if flow[b, j] <= 0.0:
            came[b] = j
        flow[b, j] += amount
        flow[a, j] -= amount
        if flow[a, j] <= 1e-14 * loads[j]:
            flow[a, j] = 0.0
        b = a
    return amount


@njit(cache=True, nogil=True)
def transport(costs: NDArray, loads: NDArray, room: NDArray, flow: NDArray) -> bool:
    """Cheapest service of all loads within the sites' room: fills `flow`."""
    k, n = costs.shape
    used = np.zeros(k)
    equal = 1e-11 * costs.max()  # above rounding: chains of no gain would go in circles
    slack = 1e-12 * _start(costs, loads, flow, used)
    if used.sum() > room.sum() * (1 + 1e-9):
        return False
    size = k * n + k
    pool = (
        np.empty(size),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
    )
    count = 0
    heads = np.full((k, k), -1)
    filled = np.zeros(k, np.bool_)
    distance, before, came = np.empty(k), np.empty(k, np.int64), np.empty(k, np.int64)
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
                if not filled[a]:
                    filled[a] = True
                    for j in range(n):
                        if flow[a, j] > 0.0:
                            pool, count = _pushed(pool, count, heads, costs, a, j)
                for b in range(k):
                    head = -1 if b == a else _cheapest(pool, heads, flow, a, b)
                    if head < 0:
                        continue
                    reach = distance[a] + pool[0][head]
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
        amount = _move(pool, heads, flow, before, source, target, amount, loads, came)
        if amount <= 0.0:
            return False
        for b in range(k):
            if came[b] >= 0 and filled[b]:
                pool, count = _pushed(pool, count, heads, costs, b, came[b])
        used[source] -= amount
        used[target] += amount
