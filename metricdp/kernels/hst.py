"""Compiled steps of 2-HSTs.

Least-element lists (Cohen 1997): for each point, the sources that are nearer to it than all sources
before them in a random order. Each source labels the levels of the points it is first to reach.
Then the tree of nested clusters from labels of all levels, chains of single children compressed;
and passes over a tree of flat arrays, parents before children.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.shortest_paths import heap_pop, heap_push

BLOCK = 16
"""Points in a smallest box."""
_EXACT = {"reassoc", "contract"}  # sums of integers below 2**53 are the same in any order


class Labeling(NamedTuple):
    """State: `radii` of the levels, decreasing to 0; `known` (n_points,): distance to the nearest
    source so far; `filled` (n_points,): number of levels with a label in `labels` (n_points,
    n_levels).
    """

    radii: NDArray
    known: NDArray
    filled: NDArray
    labels: NDArray


@njit(cache=True, nogil=True, inline="always")
def _label(found: Labeling, v: int, distance: int, number: int) -> None:
    """Label the levels of a point whose radius a source is the first to be within."""
    level = found.filled[v]
    while level < len(found.radii) and distance <= found.radii[level]:
        found.labels[v, level] = number
        level += 1
    found.filled[v] = level


@njit(cache=True, nogil=True)
def graph_labels(graph: tuple, sources: NDArray, first: int, found: Labeling, heap: tuple) -> None:
    """Label the vertices nearer to a source than to all before it, by one pruned search a source;
    sources are numbered from `first` on. `heap`: as in `add_sources`, of ``n_arcs + 1`` entries.

    In random order a vertex has ln n entries in expectation (Cohen 1997).
    """
    indptr, indices, lengths = graph
    keys, payload = heap
    known = found.known
    for i in range(len(sources)):
        size = np.int64(0)
        if known[sources[i]] > 0:
            known[sources[i]] = 0
            size = heap_push(keys, payload, size, np.int64(0), sources[i])
        while size > 0:
            d, u, size = heap_pop(keys, payload, size)
            if d > known[u]:
                continue
            _label(found, u, d, first + i)
            for a in range(indptr[u], indptr[u + 1]):
                v = indices[a]
                t = d + lengths[a]
                if t < known[v]:
                    known[v] = t
                    size = heap_push(keys, payload, size, t, np.int64(v))


@njit(cache=True, nogil=True, fastmath=_EXACT)
def vector_labels(
    points: NDArray, boxes: tuple, euclidean: bool, sources: NDArray, first: int, found: Labeling
) -> None:
    """As `graph_labels`, for integer points and the Euclidean or L1 distance rounded up. Pruned by
    `boxes`, from `over_boxes`: lowest and highest corners, and upper bounds of ``found.known``
    inside.
    """
    low, high, farthest = boxes
    known = found.known
    n, d = points.shape
    n_blocks = len(farthest) // 2
    stack = np.empty(64, np.int64)
    for i in range(len(sources)):
        x = points[sources[i]]
        stack[0] = 1
        n_stacked = 1
        while n_stacked > 0:
            n_stacked -= 1
            box = stack[n_stacked]
            bound = farthest[box] * farthest[box] if euclidean else farthest[box]
            gap = 0.0
            for j in range(d):
                side = max(low[box, j] - x[j], x[j] - high[box, j], 0.0)
                gap += side * side if euclidean else side
            if gap >= bound:
                continue
            if box < n_blocks:
                stack[n_stacked] = 2 * box
                stack[n_stacked + 1] = 2 * box + 1
                n_stacked += 2
                continue
            for v in range((box - n_blocks) * BLOCK, min((box - n_blocks + 1) * BLOCK, n)):
                distance = _rounded_up(x, points[v], known[v], euclidean)
                if distance < known[v]:
                    known[v] = distance
                    _label(found, v, distance, first + i)


@njit(cache=True, nogil=True)
def row_labels(rows: NDArray, first: int, found: Labeling) -> None:
    """As `graph_labels`, from rows of distances (n_sources, n_points)."""
    for i in range(len(rows)):
        for v in range(rows.shape[1]):
            if rows[i, v] < found.known[v]:
                found.known[v] = rows[i, v]
                _label(found, v, rows[i, v], first + i)


@njit(cache=True, nogil=True, fastmath=_EXACT)
def _rounded_up(x: NDArray, y: NDArray, cap: int, euclidean: bool) -> int:
    """Distance rounded up, or `cap` as soon as it cannot be smaller."""
    total = 0.0
    limit = np.float64(cap)
    limit = limit * limit if euclidean else limit
    for first in range(0, len(x), 64):
        for j in range(first, min(first + 64, len(x))):
            side = x[j] - y[j]
            total += side * side if euclidean else abs(side)
        if total >= limit:
            return cap
    if not euclidean:
        return int(total)
    root = int(np.ceil(np.sqrt(total)))
    return root + int(root * root < int(total))


def over_boxes(pick: np.ufunc, values: NDArray, empty: float) -> NDArray:
    """Minimum or maximum (`pick`) of values in every box, `empty` in one without points.

    Boxes form an implicit binary tree from box 1 on, whose leaves are blocks of consecutive points.
    `values` (n_points, …): near points should have near indices.
    """
    least = pick.reduceat(values, np.arange(0, len(values), BLOCK))
    n_boxes = 1 << (len(least) - 1).bit_length()
    found = np.full((2 * n_boxes, *values.shape[1:]), empty, np.float64)
    found[n_boxes : n_boxes + len(least)] = least
    while n_boxes > 1:
        pairs = found[n_boxes : 2 * n_boxes]
        n_boxes //= 2
        found[n_boxes : 2 * n_boxes] = pick(pairs[::2], pairs[1::2])
    return found


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
