"""Exact k-median on a tree with leaves at one distance below each node: a dynamic program."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def table_sizes(parent: NDArray, most: NDArray, k: int) -> tuple[NDArray, NDArray]:
    """Where each node's row of costs, and of choices, begins: two arrays (n_nodes + 1,)."""
    n = len(parent)
    costs = np.zeros(n + 1, np.int64)
    choices = np.zeros(n + 1, np.int64)
    so_far = np.zeros(n, np.int64)
    for v in range(n - 1, -1, -1):
        costs[v + 1] = min(k, most[v]) + 1
        if v > 0:
            so_far[parent[v]] += most[v]
            choices[v + 1] = min(k, so_far[parent[v]]) + 1
    return np.cumsum(costs), np.cumsum(choices)


@njit(cache=True, nogil=True)
def tree_k_median(
    parent: NDArray,
    weight: NDArray,
    away: NDArray,
    least: NDArray,
    most: NDArray,
    k: int,
    cost_at: NDArray,
    choice_at: NDArray,
) -> tuple[float, NDArray]:
    """The cheapest way to place k centers at leaves; a point is served through its lowest ancestor
    with a center.

    Parents come before children. `weight`: demand below each node, perhaps negative. `away`: cost
    of a unit below a node without center. `least`, `most`: bounds of the centers below each node.
    Returns the cost, and the number of centers below each node.

    f_v(j), the least cost of v's demand with j centers below v, is the min-plus sum of its
    children's, extended by ``weight[c] · away[c]`` at j = 0. O(n_nodes · k) time and memory.
    """
    n = len(parent)
    cost = np.full(cost_at[n], np.inf)
    choice = np.zeros(choice_at[n], np.int32)
    width = np.ones(n, np.int64)
    inner = np.zeros(n, np.bool_)
    for v in range(n - 1, -1, -1):
        own = cost[cost_at[v] : cost_at[v + 1]]
        if not inner[v]:
            own[max(1, least[v]) :] = 0.0
        if v == 0:
            break
        p = parent[v]
        above = cost[cost_at[p] : cost_at[p + 1]]
        picks = choice[choice_at[v] : choice_at[v + 1]]
        if not inner[p]:
            inner[p] = True
            above[0] = 0.0
        own[0] = np.inf if least[v] > 0 else weight[v] * away[v]
        before = width[p]
        width[p] = len(picks)
        for j in range(width[p] - 1, -1, -1):
            best = np.inf
            for i in range(max(0, j - before + 1), min(j, len(own) - 1) + 1):
                total = above[j - i] + own[i]
                if total < best:
                    best = total
                    picks[j] = i
            above[j] = best
    centers = np.zeros(n, np.int64)
    rest = np.zeros(n, np.int64)
    centers[0] = rest[0] = k
    for v in range(1, n):  # the child added last to its parent's row comes first
        i = choice[choice_at[v] + rest[parent[v]]]
        rest[parent[v]] -= i
        centers[v] = rest[v] = i
    return cost[cost_at[0] + k], centers
