"""Passes over a tree of flat arrays, parents before children."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def consistent_counts(
    parent: NDArray, value: NDArray, variance: NDArray, size: NDArray
) -> tuple[NDArray, NDArray]:
    """Least-squares estimates of counts that add up, from independent noisy counts of some nodes of
    a tree.

    `variance` is infinite where a node was not counted; below such nodes counts are distributed by
    `size`. Returns estimates, and upper bounds of their variances.

    Upwards, a node's own count and its children's sum are averaged by inverse variance; downwards,
    residuals are distributed by variance (Hay, Rastogi, Miklau & Suciu, VLDB 2010). O(n_nodes).
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
    for v in range(1, n):  # parents first: theirs are final
        p = parent[v]
        rest = estimate[p] - below[p]
        if unknown[p] > 0:
            if spread[v] == np.inf:
                estimate[v] = rest * size[v] / unknown[p]
        elif below_spread[p] > 0:
            estimate[v] += rest * spread[v] / below_spread[p]
    return estimate, spread


@njit(cache=True, nogil=True)
def counts_above_noise(
    parent: NDArray, estimate: NDArray, floor: NDArray, size: NDArray
) -> tuple[NDArray, NDArray]:
    """Estimates above the noise, and even spreading below: a node is above it if its parent is and
    its estimate exceeds `floor`.

    Returns counts, where the rest of a node above it is distributed over its other children by
    `size`, and which nodes are above it. O(n_nodes).
    """
    n = len(parent)
    counts = estimate.copy()
    above = np.zeros(n, np.bool_)
    inside = np.zeros(n)
    others = np.zeros(n)
    above[0] = True
    for v in range(1, n):
        p = parent[v]
        if above[p] and estimate[v] > floor[v]:
            above[v] = True
            inside[p] += estimate[v]
        else:
            others[p] += size[v]
    for v in range(1, n):
        p = parent[v]
        if not above[v]:
            counts[v] = (counts[p] - inside[p]) * size[v] / others[p]
    return counts, above
