"""The transportation problem with few sites of limited capacity.

Every client starts at its cheapest site. While a site is overfull, load moves along the cheapest
chain of sites to one with capacity left (successive shortest paths; Ahuja, Magnanti & Orlin, 1993,
chapter 9).
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def _start(costs: NDArray, loads: NDArray, flow: NDArray, used: NDArray) -> float:
    """Assign every client to its cheapest site; returns the total load."""
    flow[:] = 0.0
    total = 0.0
    for j in range(costs.shape[1]):
        best = np.argmin(costs[:, j])
        flow[best, j] = loads[j]
        used[best] += loads[j]
        total += loads[j]
    return total


@njit(cache=True, nogil=True)
def _update_cheapest(costs: NDArray, a: int, j: int, client: NDArray, extra_cost: NDArray) -> None:
    """Client j is at site a: update the cheapest client to move from a to each other site."""
    for b in range(len(costs)):
        more = costs[b, j] - costs[a, j]
        if more < extra_cost[a, b] and b != a:
            client[a, b], extra_cost[a, b] = j, more


@njit(cache=True, nogil=True)
def _move(state: tuple, source: int, target: int, amount: float) -> float:
    """Move load along a chain; returns how much. Sites that lost a client become `stale`."""
    costs, loads, flow, client, extra_cost, stale, predecessor = state
    b = target
    steps = 0
    while b != source:
        steps += 1
        if steps > len(predecessor):
            return 0.0
        a = predecessor[b]
        amount = min(amount, flow[a, client[a, b]])
        b = a
    b = target
    while b != source:
        a = predecessor[b]
        j = client[a, b]
        flow[b, j] += amount
        _update_cheapest(costs, b, j, client, extra_cost)
        flow[a, j] -= amount
        if flow[a, j] <= 1e-14 * loads[j]:
            flow[a, j] = 0.0
            stale[a] = True
        b = a
    return amount


@njit(cache=True, nogil=True)
def transport(costs: NDArray, loads: NDArray, capacity: NDArray, flow: NDArray) -> bool:
    """Fill `flow` with the cheapest service within the capacities; whether there is one."""
    k = len(costs)
    used = np.zeros(k)
    tolerance = 1e-11 * costs.max()  # above rounding, which could make cycles
    slack = 1e-12 * _start(costs, loads, flow, used)
    if used.sum() > capacity.sum() * (1 + 1e-9):
        return False
    # for each pair of sites the client that moves at least extra cost, and that cost
    client, extra_cost = np.empty((k, k), np.int64), np.empty((k, k))
    stale = np.ones(k, np.bool_)
    distance, predecessor = np.empty(k), np.empty(k, np.int64)
    while True:
        source = np.argmax(used - capacity)
        if used[source] <= capacity[source] + slack:
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
                    extra_cost[a] = np.inf
                    for j in np.flatnonzero(flow[a] > 0.0):
                        _update_cheapest(costs, a, j, client, extra_cost)
                for b in range(k):
                    reach = distance[a] + extra_cost[a, b]
                    if reach < distance[b] - tolerance:
                        distance[b] = reach
                        predecessor[b] = a
                        changed = True
            if not changed:
                break
        target: Any = np.int64(-1)
        for i in range(k):
            has_capacity = used[i] < capacity[i] - slack and distance[i] < np.inf
            if has_capacity and (target < 0 or distance[i] < distance[target]):
                target = i
        if target < 0:
            return used[source] <= capacity[source] * (1 + 1e-9)
        amount = min(used[source] - capacity[source], capacity[target] - used[target])
        state = costs, loads, flow, client, extra_cost, stale, predecessor
        amount = _move(state, source, target, amount)
        if amount <= 0.0:
            return False
        used[source] -= amount
        used[target] += amount
