"""Facility location: local search on a block of costs (open, close and swap), and branch and bound
where most service is far too dear, or impossible.

Branching is on the client with the fewest sites left that may serve it, among those no open site
serves: the first site opens, or the second without the first, and so on. With ``g[i]`` such clients
near site i, the multipliers ``v[j] = min over i of cost[i, j] + price[i] / g[i]`` are dual
feasible, so their sum bounds the cost of serving those clients (Erlenkotter, Oper. Res. 1978).
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels import block_swaps
from metricdp.kernels.copying import copy_into


class NearSites(NamedTuple):
    """Which sites can serve which clients, at what costs, and opening costs (`price`).

    `start` (m + 1,), `client`: by site; `back` (n + 1,), `site`, `cost`: by client.
    """

    start: NDArray
    client: NDArray
    back: NDArray
    site: NDArray
    cost: NDArray
    price: NDArray


class Branches(NamedTuple):
    """State of the depth-first search.

    `serving` (n,): open sites near each client; `gain` (m,): unserved clients near each site;
    `free`, `is_open` (m,); `order` (m + 1, most), `tried` (m + 1, 2): sites to open at each depth,
    their number and how many were tried; `at`: depth, -1 at the end, and whether it was just
    entered; `found`: lower bound of the leaves reached, and the least cost of all solutions found;
    `best` (m,): the latter's sites.
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
    """The root of the search, where only `fixed` sites are open."""
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
        _open_or_close(near, state, i, np.int64(1))
        state.free[i] = False
    return state


@njit(cache=True, nogil=True)
def _open_or_close(near: NearSites, state: Branches, i: int, step: int) -> None:
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
def _opening_costs(near: NearSites, state: Branches) -> float:
    """Sum over the open sites."""
    opening = 0.0
    for i in range(len(near.price)):
        if state.is_open[i]:
            opening += near.price[i]
    return opening


@njit(cache=True, nogil=True)
def _bound(near: NearSites, state: Branches, least: NDArray) -> tuple[float, int]:
    """Lower bound of service and of the sites still to open, and the client to branch on, -1 if all
    are served. `least` (n,): cheapest service of each client.
    """
    total, client, fewest = 0.0, -1, len(near.price) + 1
    for j in range(len(least)):
        if state.serving[j]:
            total += least[j]
            continue
        cheapest, n_sites = np.inf, 0
        for a in range(near.back[j], near.back[j + 1]):
            i = near.site[a]
            if state.free[i]:
                n_sites += 1
                cheapest = min(cheapest, near.cost[a] + near.price[i] / state.gain[i])
        total += cheapest
        if n_sites < fewest:
            client, fewest = j, n_sites
    return total, client


@njit(cache=True, nogil=True)
def _record_leaf(near: NearSites, state: Branches, opening: float, total: float) -> None:
    """All are served: record the cost of the open sites, and the bound if more sites open."""
    served, more = opening, np.inf
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
        copy_into(state.best, state.is_open)
    state.found[0] = min(state.found[0], served, opening + more + total)


@njit(cache=True, nogil=True)
def _insert_by_price(near: NearSites, state: Branches, depth: int, i: int) -> None:
    """Insert a site into those to be tried, by price for each client."""
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
    """Visit at most `nodes` branches that may cost less than `target`. Returns how many."""
    visited = 0
    depth = state.at[0]
    while depth >= 0 and visited < nodes:
        if state.at[1]:
            visited += 1
            state.at[1] = 0
            state.tried[depth, :] = 0
            opening = _opening_costs(near, state)
            total, client = _bound(near, state, least)
            if client < 0:
                _record_leaf(near, state, opening, total)
            elif opening + total < target:
                for a in range(near.back[client], near.back[client + 1]):
                    i = near.site[a]
                    if state.free[i]:
                        _insert_by_price(near, state, depth, i)
        # Descend to the next site; those tried before stay closed below.
        if state.tried[depth, 1] < state.tried[depth, 0]:
            i = state.order[depth, state.tried[depth, 1]]
            state.tried[depth, 1] += 1
            state.free[i] = False
            _open_or_close(near, state, i, np.int64(1))
            depth += 1
            state.at[1] = 1
            continue
        for i in state.order[depth, : state.tried[depth, 0]]:
            state.free[i] = True
        depth -= 1
        if depth >= 0:
            i = state.order[depth, state.tried[depth, 1] - 1]
            _open_or_close(near, state, i, np.int64(-1))
    state.at[0] = depth
    return visited


@njit(cache=True, nogil=True)
def _best_entry(
    row: NDArray,
    price: float,
    weights: NDArray,
    prices: NDArray,
    labels: block_swaps.Labels,
    losses: NDArray,
    space: block_swaps.Workspace,
) -> tuple[float, int]:
    """Change of cost when a site opens, and the slot that then closes, -1 for none."""
    if len(prices) == 1:  # there is no second site
        return price + np.minimum(row - labels.c_first, 0.0).sum(), -1
    gain = price + block_swaps.row_change(row, weights, labels, losses, space)
    closing = int(np.argmin(space.change - prices))
    swapped = gain + space.change[closing] - prices[closing]
    return (swapped, closing) if swapped < gain else (gain, -1)


@njit(cache=True, nogil=True)
def open_and_close(
    costs: NDArray,
    prices: NDArray,
    is_open: NDArray,
    may_close: NDArray,
    order: NDArray,
    tolerance: float,
) -> float:
    """Open, close and swap single sites while that lowers the cost, which is returned; changes
    `is_open`. `prices`: opening costs; `order`: in which sites are tried.
    """
    m, n = costs.shape
    weights = np.ones(n)  # the costs hold them
    cost, n_rejected, position = np.inf, 0, 0
    while n_rejected < m:
        opened = np.flatnonzero(is_open)
        labels, losses = block_swaps.label_columns(costs, opened), np.empty(len(opened))
        space = block_swaps.workspace(n, len(opened))
        closing_gain = np.where(may_close[opened], prices[opened], -np.inf)
        cost = block_swaps.block_losses(weights, np.int64(0), labels, losses) + prices[opened].sum()
        n_rejected, improved = 0, False
        while n_rejected < m and not improved:
            site = order[position]
            position = (position + 1) % m
            n_rejected += 1
            if is_open[site]:
                slot = np.searchsorted(opened, site)
                improved = len(opened) > 1 and losses[slot] - closing_gain[slot] < -tolerance
                is_open[site] = not improved
                continue
            change, slot = _best_entry(
                costs[site], prices[site], weights, closing_gain, labels, losses, space
            )
            improved = change < -tolerance
            if improved:
                is_open[site] = True
                if slot >= 0:
                    is_open[opened[slot]] = False
    return cost
