"""Depth-first branching for opening costs where most service is far too dear, or impossible.

A client that no open site serves, with the fewest sites left that may, is served by one of them: by
the first, or by the second without the first, and so on. With ``g[i]`` such clients near site i,
multipliers ``v[j] = min over i of cost[i, j] + price[i] / g[i]`` leave no site worth more than its
price, so that their sum bounds what serving those clients costs (Erlenkotter, Oper. Res. 1978).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class NearSites(NamedTuple):
    """Clients of every site and sites of every client, at what cost, and what sites cost to open.

    `start` (m + 1,), `client`: by site; `back` (n + 1,), `site`, `cost`: by client.
    """

    start: NDArray
    client: NDArray
    back: NDArray
    site: NDArray
    cost: NDArray
    price: NDArray


class Branches(NamedTuple):
    """Where a search stands.

    `serving` (n,): open sites near each client; `gain` (m,): clients near each site without any;
    `free`, `is_open` (m,): sites that may still open, and that did; `order` (m + 1, most),
    `tried` (m + 1, 2): sites to open at each depth, how many there are and how many were tried;
    `at`: depth, -1 at the end, and whether it was just entered; `found`: least cost of an end that
    was not bounded by the target, and of all sites found; `best` (m,): these.
    """

    serving: NDArray
    gain: NDArray
    free: NDArray
    is_open: NDArray
    order: NDArray
    tried: NDArray
    at: NDArray
    found: NDArray
    best: NDArray


def branches(near: NearSites, fixed: NDArray) -> Branches:
    """The root, where only `fixed` sites are open."""
    m, n = len(near.start) - 1, len(near.back) - 1
    most = int(np.diff(near.back).max(initial=0))
    state = Branches(
        np.zeros(n, np.int64),
        np.diff(near.start),
        np.ones(m, bool),
        np.zeros(m, bool),
        np.zeros((m + 1, most), np.int64),
        np.zeros((m + 1, 2), np.int64),
        np.array([0, 1]),
        np.array([np.inf, np.inf]),
        np.zeros(m, bool),
    )
    for i in fixed:
        _switch(near, state, i, 1)
        state.free[i] = False
    return state


@njit(cache=True, nogil=True)
def _switch(near: NearSites, state: Branches, i: int, step: int) -> None:
    """Open (step 1) or close (step -1) a site."""
    state.is_open[i] = step > 0
    for a in range(near.start[i], near.start[i + 1]):
        j = near.client[a]
        before = state.serving[j]
        state.serving[j] += step
        if before == 0 or state.serving[j] == 0:
            for b in range(near.back[j], near.back[j + 1]):
                state.gain[near.site[b]] -= step


@njit(cache=True, nogil=True)
def _paid(near: NearSites, state: Branches) -> float:
    """Prices of open sites."""
    paid = 0.0
    for i in range(len(near.price)):
        if state.is_open[i]:
            paid += near.price[i]
    return paid


@njit(cache=True, nogil=True)
def _bound(near: NearSites, state: Branches, least: NDArray) -> tuple[float, int]:
    """What service and the sites still to open cost at least, and the client to branch on: -1 if
    all are served. `least` (n,): the cheapest service of each.
    """
    total, client, fewest = 0.0, -1, len(near.price) + 1
    for j in range(len(least)):
        if state.serving[j]:
            total += least[j]
            continue
        cheapest, some = np.inf, 0
        for a in range(near.back[j], near.back[j + 1]):
            i = near.site[a]
            if state.free[i]:
                some += 1
                cheapest = min(cheapest, near.cost[a] + near.price[i] / state.gain[i])
        total += cheapest
        if some < fewest:
            client, fewest = j, some
    return total, client


@njit(cache=True, nogil=True)
def _ended(near: NearSites, state: Branches, paid: float, total: float) -> None:
    """All are served: by the open sites, or, if others open too, for one more price and `total`."""
    served, more = paid, np.inf
    for j in range(len(state.serving)):
        cheapest = np.inf
        for a in range(near.back[j], near.back[j + 1]):
            if state.is_open[near.site[a]]:
                cheapest = min(cheapest, near.cost[a])
        served += cheapest
    for i in range(len(near.price)):
        if state.free[i]:
            more = min(more, near.price[i])
    if served < state.found[1]:
        state.found[1] = served
        state.best[:] = state.is_open
    state.found[0] = min(state.found[0], served, paid + more + total)


@njit(cache=True, nogil=True)
def _insert(near: NearSites, state: Branches, depth: int, i: int) -> None:
    """Put a site among those to be tried: those of the lowest price for each client go first."""
    order, at = state.order[depth], state.tried[depth, 0]
    share = near.price[i] / state.gain[i]
    while at > 0 and near.price[order[at - 1]] / state.gain[order[at - 1]] > share:
        order[at] = order[at - 1]
        at -= 1
    order[at] = i
    state.tried[depth, 0] += 1


@njit(cache=True, nogil=True)
def search_branches(
    near: NearSites, state: Branches, least: NDArray, target: float, nodes: int
) -> int:
    """Look into branches that may cost less than `target`, so many at most; returns how many."""
    seen = 0
    depth = state.at[0]
    while depth >= 0 and seen < nodes:
        if state.at[1]:
            seen += 1
            state.at[1] = 0
            state.tried[depth, :] = 0
            paid = _paid(near, state)
            total, client = _bound(near, state, least)
            if client < 0:
                _ended(near, state, paid, total)
            elif paid + total < target:
                for a in range(near.back[client], near.back[client + 1]):
                    i = near.site[a]
                    if state.free[i]:
                        _insert(near, state, depth, i)
        if state.tried[depth, 1] < state.tried[depth, 0]:
            i = state.order[depth, state.tried[depth, 1]]
            state.tried[depth, 1] += 1
            state.free[i] = False
            _switch(near, state, i, 1)
            depth += 1
            state.at[1] = 1
            continue
        for i in state.order[depth, : state.tried[depth, 0]]:
            state.free[i] = True
        depth -= 1
        if depth >= 0:
            _switch(near, state, state.order[depth, state.tried[depth, 1] - 1], -1)
    state.at[0] = depth
    return seen
