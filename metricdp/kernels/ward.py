"""Ward's hierarchical clustering of weighted points, and the 1-median cost of every node of its
tree.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.copying import copy_into

_EVEN = 1e-4
"""Exponent of (size of the union) that breaks ties of merge costs in single precision."""


@njit(cache=True, nogil=True)
def ward_tree(squares: NDArray, sizes: NDArray) -> NDArray:
    """Merge m weighted points by Ward's criterion; `squares` (m, m), squared distances, is
    overwritten.

    Nearest-neighbor chain (Murtagh 1983), O(m²), with the Lance–Williams recurrence. Ties go to the
    smaller union: otherwise one cluster would absorb equally distant points one by one.
    """
    m = len(sizes)
    weight = sizes.copy()
    node = np.arange(m)
    alive = np.ones(m, np.bool_)
    for i in range(m):
        for j in range(m):
            squares[i, j] *= weight[i] * weight[j] / (weight[i] + weight[j])
    children = np.empty((m - 1, 2), np.int64)
    chain = np.empty(m, np.int64)
    length = 0
    for step in range(m - 1):
        if length == 0:
            for i in range(m):
                if alive[i]:
                    chain[0] = i
                    length = 1
                    break
        # Extend the chain to nearest neighbors until two are nearest to each other; merge these.
        while True:
            a = chain[length - 1]
            previous = chain[length - 2] if length > 1 else -1
            b = previous
            least = np.inf
            if previous >= 0:
                least = squares[a, previous] * (weight[a] + weight[previous]) ** _EVEN
            for j in range(m):
                if alive[j] and j != a and (squares[a, j] <= 1.01 * least or b < 0):
                    compared = squares[a, j] * (weight[a] + weight[j]) ** _EVEN
                    if compared < least or b < 0:
                        least = compared
                        b = j
            if b == previous:
                break
            chain[length] = b
            length += 1
        length -= 2
        a, b = min(a, b), max(a, b)
        # Lance–Williams recurrence for the costs of merging with the union.
        for j in range(m):
            if alive[j] and j != a and j != b:
                total = weight[a] + weight[b] + weight[j]
                joined = (
                    (weight[a] + weight[j]) * squares[a, j]
                    + (weight[b] + weight[j]) * squares[b, j]
                    - weight[j] * squares[a, b]
                )
                squares[a, j] = joined / total
                squares[j, a] = joined / total
        weight[a] += weight[b]
        alive[b] = False
        children[step, 0], children[step, 1] = node[a], node[b]
        node[a] = m + step
    return children


@njit(cache=True, nogil=True)
def node_costs(
    children: NDArray, distances: NDArray, sizes: NDArray, within: NDArray
) -> tuple[NDArray, NDArray]:
    """Size of every node, and the cost of serving it from its best leaf. O(m³) at worst."""
    m = len(sizes)
    size = np.zeros(2 * m - 1, np.float64)
    cost = np.zeros(2 * m - 1, np.float64)
    copy_into(size, sizes)
    copy_into(cost, within)
    inner = within.astype(np.float64)
    inner = np.concatenate((inner, np.zeros(m - 1)))
    # leaves of a node are a run of `order`
    start = np.zeros(2 * m - 1, np.int64)
    stop = np.zeros(2 * m - 1, np.int64)
    count = np.ones(2 * m - 1, np.int64)
    for i in range(m - 1):
        count[m + i] = count[children[i, 0]] + count[children[i, 1]]
    order = np.empty(m, np.int64)
    stop[2 * m - 2] = m
    for i in range(m - 2, -1, -1):
        left = children[i, 0]
        right = children[i, 1]
        start[left], stop[left] = start[m + i], start[m + i] + count[left]
        start[right], stop[right] = stop[left], stop[m + i]
    for leaf in range(m):
        order[start[leaf]] = leaf
    service = np.zeros(m, np.float64)  # cost of each leaf as the center of its current node
    for i in range(m - 1):
        v = m + i
        left = children[i, 0]
        right = children[i, 1]
        size[v] = size[left] + size[right]
        inner[v] = inner[left] + inner[right]
        best = np.inf
        for side in range(2):
            near, far = (left, right) if side == 0 else (right, left)
            for a in range(start[near], stop[near]):
                c = order[a]
                added = 0.0
                for b in range(start[far], stop[far]):
                    added += sizes[order[b]] * distances[c, order[b]]
                service[c] += added
                best = min(best, service[c])
        cost[v] = best + inner[v]
    return size, cost
