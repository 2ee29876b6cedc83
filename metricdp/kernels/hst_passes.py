"""Passes over a tree of flat arrays: sums, consistent counts, disjoint subtrees. Parents come
before their children.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def disjoint_subtrees(parent: NDArray, ranked: NDArray, free: NDArray, wanted: int) -> NDArray:
    """The first pairwise disjoint subtrees of a ranking (Fan, Li & Li, NeurIPS 2023, Algorithm 4).

    `parent` (n_nodes,): -1 for the root, node 0; `ranked`: nodes, best first, each once; `free`
    (n_nodes,): nodes that may be taken; with a node all its descendants that hold a free one.
    Changed: ancestors of a taken node are free no more.

    Nodes are taken in turn; a taken node drops the ancestor that was taken before, and no ancestor
    of it is ever taken (again). It ends with the `wanted`-th, as does taking the best missing ones
    together and dropping afterwards: a batch reaches that number with its last node or not at all.
    O(n_nodes): each node is passed upwards once.
    """
    n = len(parent)
    kept = np.zeros(n, np.bool_)
    taken = np.empty(len(ranked), np.int64)
    n_taken = 0
    n_kept = 0
    for v in ranked:
        if n_kept == wanted:
            break
        if not free[v]:
            continue
        kept[v] = True
        taken[n_taken] = v
        n_taken += 1
        n_kept += 1
        u = parent[v]
        while u >= 0 and free[u]:
            free[u] = False
            if kept[u]:
                kept[u] = False
                n_kept -= 1
            u = parent[u]
    return np.array([v for v in taken[:n_taken] if kept[v]], np.int64)


@njit(cache=True, nogil=True)
def heaviest_children(parent: NDArray, counts: NDArray, allowed: NDArray) -> NDArray:
    """The allowed child of largest count of every node, of equal ones the first; -1 where there is
    none. O(n_nodes).
    """
    best = np.full(len(parent), -1, np.int64)
    for v in range(1, len(parent)):
        p = parent[v]
        if allowed[v] and (best[p] < 0 or counts[v] > counts[best[p]]):
            best[p] = v
    return best


@njit(cache=True, nogil=True)
def consistent_counts(
    parent: NDArray, value: NDArray, variance: NDArray, size: NDArray
) -> tuple[NDArray, NDArray]:
    """Least-squares estimates of counts that add up, from independent noisy counts of some nodes of
    a tree.

    `parent` (n_nodes,); `value` (n_nodes,): noisy count of every node; `variance` (n_nodes,): of
    its noise; infinite where a node was not counted; `size` (n_nodes,): positive. A node of which
    nothing below was counted is divided among its children in proportion.

    Returns `estimate` (n_nodes,): every inner node's is the sum of its children's; where leaves
    were counted, the best linear unbiased estimate; `spread` (n_nodes,): variance of what a node
    and all below it say of its count, an upper bound of the estimate's; infinite where nothing was
    counted.

    Upwards, each node's own count and the sum of its children's estimates are averaged by inverse
    variance; downwards, what a node differs from that sum is divided among its children in
    proportion to their variances (Hay, Rastogi, Miklau & Suciu, VLDB 2010, for one variance a
    level). O(n_nodes).
    """
    n = len(parent)
    estimate = value.copy()
    spread = variance.copy()
    below = np.zeros(n)
    below_spread = np.zeros(n)
    has_children = np.zeros(n, np.bool_)
    for v in range(n - 1, -1, -1):
        if has_children[v] and below_spread[v] < np.inf:
            if spread[v] == np.inf:
                estimate[v], spread[v] = below[v], below_spread[v]
            elif spread[v] + below_spread[v] > 0:
                share = below_spread[v] / (spread[v] + below_spread[v])
                estimate[v] = share * estimate[v] + (1 - share) * below[v]
                spread[v] = spread[v] * share
        if v > 0:
            p = parent[v]
            below_spread[p] += spread[v]
            if spread[v] < np.inf:
                below[p] += estimate[v]
            has_children[p] = True
    unknown = np.zeros(n)
    for v in range(1, n):
        if spread[v] == np.inf:
            unknown[parent[v]] += size[v]
    for v in range(1, n):  # in order of parents: theirs are final
        p = parent[v]
        rest = estimate[p] - below[p]
        if unknown[p] > 0:
            if spread[v] == np.inf:
                estimate[v] = rest * size[v] / unknown[p]
        elif below_spread[p] > 0:
            estimate[v] += rest * spread[v] / below_spread[p]
    return estimate, spread


@njit(cache=True, nogil=True)
def settled_counts(
    parent: NDArray, estimate: NDArray, floor: NDArray, size: NDArray
) -> tuple[NDArray, NDArray]:
    """Estimates where they stand out from the noise, and even spreading below.

    `parent` (n_nodes,); `estimate` (n_nodes,); `floor` (n_nodes,): a node settles if its parent did
    and its estimate is above this; the root does always; `size` (n_nodes,): positive.

    Returns `counts` (n_nodes,): a settled node's estimate; what it has more than its settled
    children is divided among the other children in proportion to `size`; `settled` (n_nodes,).

    Where all children settle, they keep their estimates. O(n_nodes).
    """
    n = len(parent)
    counts = estimate.copy()
    settled = np.zeros(n, np.bool_)
    inside = np.zeros(n)
    others = np.zeros(n)
    settled[0] = True
    for v in range(1, n):
        p = parent[v]
        if settled[p] and estimate[v] > floor[v]:
            settled[v] = True
            inside[p] += estimate[v]
        else:
            others[p] += size[v]
    for v in range(1, n):
        p = parent[v]
        if not settled[v]:
            counts[v] = (counts[p] - inside[p]) * size[v] / others[p]
    return counts, settled
