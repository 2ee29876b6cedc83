"""Exact k-median and k-means of the metric of a 2-HST, by dynamic programming."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.arguments import Bools, Floats, Ints
from metricdp.errors import InputError
from metricdp.partitions.finite.hst import HST
from metricdp.solvers.kmedian import Found

_LARGEST = 400_000_000
"""Entries of the tables: 4 bytes for each choice, 8 for each cost."""


def solve_on_tree(
    tree: HST,
    weights: Floats,
    k: int,
    *,
    power: int = 1,
    candidates: Ints | None = None,
    opened: Ints | None = None,
) -> Found:
    """The k centers of least ``sum over v of weights[v] · min over centers c of d_tree(c,
    v)**power``: an exact optimum on the tree.

    On the universe, for non-negative weights, its expected cost over the tree's coins is O(log n)
    times the optimum (k-median).

    O(n · min(k, size of subtrees)) time and memory, see `tree_k_median`.

    References
    ----------
    Tamir, An O(pn²) algorithm for the p-median and related problems on tree graphs (Operations
    Research Letters 1996). Fakcharoenphol, Rao & Talwar (JCSS 2004) for the factor.
    """
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened).astype(np.int64)
    allowed = np.zeros(tree.n_points, bool)
    allowed[slice(None) if candidates is None else candidates] = True
    allowed[fixed] = True
    if not max(len(fixed), 1) <= k <= np.count_nonzero(allowed):
        raise InputError(
            f"k must be from {max(len(fixed), 1):,} to {np.count_nonzero(allowed):,}; got {k}"
        )
    opens = np.zeros(tree.n_points)
    opens[fixed] = 1
    least = tree.sums(opens).astype(np.int64)
    most = tree.sums(allowed).astype(np.int64)
    cost_at, choice_at = table_sizes(tree.parent, most, k)
    if cost_at[-1] + choice_at[-1] > _LARGEST:
        raise InputError(
            f"{k:,} centers of {tree.n_points:,} points are too many for an exact optimum on this "
            f"tree"
        )
    away = (2.0 * tree.node_height[np.maximum(tree.parent, 0)]) ** power
    cost, centers = tree_k_median(
        tree.parent, tree.sums(weights), away, least, most, k, cost_at, choice_at
    )
    return Found(_placed(tree, centers, allowed, fixed), float(cost))


def _placed(tree: HST, centers: Ints, allowed: Bools, fixed: Ints) -> Ints:
    """The opened facilities, then in each leaf as many of its other places as it needs."""
    need = np.where(tree.last_level == tree.n_levels - 1, centers, 0)
    np.subtract.at(need, tree.leaf[fixed], 1)
    free = allowed.copy()
    free[fixed] = False
    more = [
        points[free[points]][: need[leaf]]
        for leaf in np.flatnonzero(need > 0)
        for points in [tree.points(int(leaf))]
    ]
    return np.concatenate([fixed, *more]).astype(np.int64)


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
