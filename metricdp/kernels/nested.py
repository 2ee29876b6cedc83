"""The tree of nested clusters from labels of all levels, chains of single children compressed."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def nested_clusters(labels: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
    """Tree of clusters: at level i, points with equal labels at levels 0 to i. All points have one
    label at level 0.

    Returns an order in which every cluster is a range, and each node's parent, first level, start
    and stop. Parents come first. O(n · n_levels).
    """
    n, n_levels = labels.shape
    order = np.arange(n, dtype=np.int32)
    reordered = np.empty(n, np.int32)
    child_of = np.empty(n, np.int32)
    parent = np.empty(2 * n, np.int32)
    level = np.empty(2 * n, np.int8)
    start = np.empty(2 * n, np.int32)
    stop = np.empty(2 * n, np.int32)
    child_slot = np.full(n, -1, np.int32)
    at = np.empty(n + 1, np.int32)
    # parent, start, stop; the level is that of the parent's split
    stack = np.empty((n + 1, 3), np.int32)
    split = np.empty(2 * n, np.int8)
    stack[0, 0] = -1
    stack[0, 1] = 0
    stack[0, 2] = n
    n_stacked = 1
    n_nodes = 0
    while n_stacked > 0:
        n_stacked -= 1
        above, low, high = stack[n_stacked]
        node = n_nodes
        n_nodes += 1
        parent[node] = above
        start[node] = low
        stop[node] = high
        level[node] = 0 if above < 0 else split[above]
        next_split = np.int64(level[node]) + 1 if high - low > 1 else n_levels
        while next_split < n_levels:
            alike = low + 1
            while (
                alike < high and labels[order[alike], next_split] == labels[order[low], next_split]
            ):
                alike += 1
            if alike < high:
                break
            next_split += 1
        split[node] = next_split
        if next_split == n_levels:
            continue
        n_children = 0
        for j in range(low, high):
            label = labels[order[j], next_split]
            if child_slot[label] < 0:
                child_slot[label] = n_children
                at[n_children] = 0
                n_children += 1
            child_of[j] = child_slot[label]
            at[child_slot[label]] += 1
        total = low
        for c in range(n_children):
            size = at[c]
            at[c] = total
            total += size
        for j in range(low, high):
            child_slot[labels[order[j], next_split]] = -1
            reordered[at[child_of[j]]] = order[j]
            at[child_of[j]] += 1
        for j in range(low, high):
            order[j] = reordered[j]
        for c in range(n_children - 1, -1, -1):  # the first child is taken next
            stack[n_stacked, 0], stack[n_stacked, 2] = node, at[c]
            stack[n_stacked, 1] = low if c == 0 else at[c - 1]
            n_stacked += 1
    return (
        order,
        parent[:n_nodes].copy(),
        level[:n_nodes].copy(),
        start[:n_nodes].copy(),
        stop[:n_nodes].copy(),
    )
