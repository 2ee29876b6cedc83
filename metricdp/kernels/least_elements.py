"""Least-element lists (Cohen 1997): for each point, the sources that are nearer to it than all
sources before them in a random order. Each source labels the levels of the points it is first to
reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.heap import heap_drop, heap_push

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
def graph_labels(
    graph: tuple, sources: NDArray, first: int, found: Labeling, keys: NDArray, payload: NDArray
) -> None:
    """Label the vertices nearer to a source than to all before it, by one pruned search a source;
    sources are numbered from `first` on. `keys`, `payload` need ``n_arcs + 1`` entries.

    In random order a vertex has ln n entries in expectation (Cohen 1997).
    """
    indptr, indices, lengths = graph
    known = found.known
    for i in range(len(sources)):
        size = np.int64(0)
        if known[sources[i]] > 0:
            known[sources[i]] = 0
            size = heap_push(keys, payload, size, np.int64(0), sources[i])
        while size > 0:
            d = keys[0]
            u = payload[0]
            size = heap_drop(keys, payload, size)
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
