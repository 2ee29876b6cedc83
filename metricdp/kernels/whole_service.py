"""Generalized assignment: every client is served by one site, within the sites' room."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_PAIRS = 200_000_000
"""Most pairs of clients that are looked at for exchanges."""


@njit(cache=True, nogil=True)
def _emptied(
    costs: NDArray, loads: NDArray, room: NDArray, site: NDArray, used: NDArray, s: int
) -> bool:
    """Lessen the excess at site s most cheaply: move a client, or exchange it for a smaller one."""
    excess = used[s] - room[s]
    least, mover, goal = np.inf, -1, -1
    for j in range(len(site)):
        if site[j] != s or loads[j] <= 0.0:
            continue
        for t in range(len(room)):
            if t != s and used[t] + loads[j] <= room[t]:
                price = (costs[t, j] - costs[s, j]) / min(loads[j], excess)
                if price < least:
                    least, mover, goal = price, j, t
    if mover >= 0:
        site[mover] = goal
        used[s] -= loads[mover]
        used[goal] += loads[mover]
        return True
    other = -1
    for j in range(len(site)):
        if site[j] != s:
            continue
        for i in range(len(site)):
            t = site[i]
            less = loads[j] - loads[i]
            if t == s or less <= 0.0 or used[t] + less > room[t]:
                continue
            price = costs[t, j] - costs[s, j] + costs[s, i] - costs[t, i]
            if price / min(less, excess) < least:
                least, mover, other = price / min(less, excess), j, i
    if mover < 0:
        return False
    _exchanged(loads, site, used, mover, other)
    return True


@njit(cache=True, nogil=True)
def _exchanged(loads: NDArray, site: NDArray, used: NDArray, j: int, i: int) -> None:
    """Clients j and i change places."""
    less = loads[j] - loads[i]
    used[site[j]] -= less
    used[site[i]] += less
    site[j], site[i] = site[i], site[j]


@njit(cache=True, nogil=True)
def _moved(
    costs: NDArray, loads: NDArray, room: NDArray, site: NDArray, used: NDArray, least: float
) -> bool:
    """Move clients to the cheapest site that has room for them."""
    better = False
    for j in range(len(site)):
        s = site[j]
        best = s
        for t in range(len(room)):
            if used[t] + loads[j] <= room[t] and costs[t, j] < costs[best, j] - least:
                best = t
        if best != s:
            site[j] = best
            used[s] -= loads[j]
            used[best] += loads[j]
            better = True
    return better


@njit(cache=True, nogil=True)
def _swapped(
    costs: NDArray, loads: NDArray, room: NDArray, site: NDArray, used: NDArray, least: float
) -> bool:
    """Move a client to its cheapest site and another away: the best such pair for each client."""
    better = False
    for j in range(len(site)):
        s = site[j]
        if costs[s, j] <= costs[:, j].min() + least:
            continue
        gain, out, goal = -least, -1, -1
        for i in range(len(site)):
            t = site[i]
            won = costs[t, j] - costs[s, j]
            if t == s or won >= 0.0 or used[t] + loads[j] - loads[i] > room[t]:
                continue
            for u in range(len(room)):
                if u == t:
                    continue
                there = used[u] + loads[i] - (loads[j] if u == s else 0.0)
                if there <= room[u] and won + costs[u, i] - costs[t, i] < gain:
                    gain, out, goal = won + costs[u, i] - costs[t, i], i, u
        if out >= 0:
            t = site[out]
            used[s] -= loads[j]
            used[t] += loads[j] - loads[out]
            used[goal] += loads[out]
            site[j], site[out] = t, goal
            better = True
    return better


@njit(cache=True, nogil=True)
def serve_whole(costs: NDArray, loads: NDArray, room: NDArray, site: NDArray) -> bool:
    """Make an assignment of clients to sites keep the sites' room, then make it cheaper; `site` is
    changed. O(n_sites · n_clients) a move; exchanges of at most 200 million pairs.
    """
    room = room * (1 + 1e-9)
    used = np.zeros(len(room))
    for j in range(len(site)):
        used[site[j]] += loads[j]
    while True:
        s = np.argmax(used - room)
        if used[s] <= room[s]:
            break
        if not _emptied(costs, loads, room, site, used, s):
            return False
    least = 1e-12 * costs.max()
    for _ in range(100):
        better = _moved(costs, loads, room, site, used, least)
        away = 0
        for j in range(len(site)):
            away += costs[site[j], j] > costs[:, j].min() + least
        if away * len(site) <= _PAIRS:
            better |= _swapped(costs, loads, room, site, used, least)
        if not better:
            break
    return True


@njit(cache=True, nogil=True)
def largest_first(costs: NDArray, loads: NDArray, room: NDArray, site: NDArray) -> None:
    """Fill `site`, largest loads first: the cheapest site with room, or that with most left."""
    left = room * (1 + 1e-9)
    for j in np.argsort(-loads):
        best = int(np.argmax(left))
        for t in range(len(room)):
            if loads[j] <= left[t] and (loads[j] > left[best] or costs[t, j] < costs[best, j]):
                best = t
        site[j] = best
        left[best] -= loads[j]
