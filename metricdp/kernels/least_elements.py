"""Least-element lists: for each point, the points that are nearer to it than all before them in a
random order. Of these labels are made, source by source.
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
    """What sources write to: `radii` decrease to 0, `known` is each point's distance to the nearest
    source so far, `filled` at how many levels it has a label in `labels` (n_points, n_levels).
    """

    radii: NDArray
    known: NDArray
    filled: NDArray
    labels: NDArray


@njit(cache=True, nogil=True, inline="always")
def _label(found: Labeling, v: int, distance: int, number: int) -> None:
    """A source is the first within some levels' radii of a point."""
    level = found.filled[v]
    while level < len(found.radii) and distance <= found.radii[level]:
        found.labels[v, level] = number
        level += 1
    found.filled[v] = level


@njit(cache=True, nogil=True)
def graph_labels(
    graph: tuple, sources: NDArray, first: int, found: Labeling, keys: NDArray, payload: NDArray
) -> None:
    """Label the vertices that are nearer to a source than to all before it, by one pruned search a
    source; sources are numbered from `first` on. `keys`, `payload` need ``n_arcs + 1`` entries.

    ln n entries a vertex are expected in random order (Cohen 1997).
    """
    indptr, indices, lengths = graph
    known = found.known
    for i in range(len(sources)):
        size = 0
        if known[sources[i]] > 0:
            known[sources[i]] = 0
            size = heap_push(keys, payload, 0, 0, sources[i])
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
                    size = heap_push(keys, payload, size, t, v)


@njit(cache=True, nogil=True, fastmath=_EXACT)
def vector_labels(
    points: NDArray, boxes: tuple, euclidean: bool, sources: NDArray, first: int, found: Labeling
) -> None:
    """As `graph_labels`, for integer points under the Euclidean or L1 distance rounded up, pruned
    by `boxes`: lowest and highest corners, and at least the largest ``found.known`` inside, by
    `over_boxes`.
    """
    low, high, farthest = boxes
    known = found.known
    n, d = points.shape
    n_blocks = len(farthest) // 2
    waiting = np.empty(64, np.int64)
    for i in range(len(sources)):
        x = points[sources[i]]
        waiting[0] = 1
        n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            box = waiting[n_waiting]
            bound = farthest[box] * farthest[box] if euclidean else farthest[box]
            gap = 0.0
            for j in range(d):
                side = max(low[box, j] - x[j], x[j] - high[box, j], 0.0)
                gap += side * side if euclidean else side
            if gap >= bound:
                continue
            if box < n_blocks:
                waiting[n_waiting] = 2 * box
                waiting[n_waiting + 1] = 2 * box + 1
                n_waiting += 2
                continue
            for v in range((box - n_blocks) * BLOCK, min((box - n_blocks + 1) * BLOCK, n)):
                distance = _rounded_up(x, points[v], known[v], euclidean)
                if distance < known[v]:
                    known[v] = distance
                    _label(found, v, distance, first + i)


@njit(cache=True, nogil=True)
def row_labels(rows: NDArray, first: int, found: Labeling) -> None:
    """As `graph_labels`, by a row of distances (n_sources, n_points) a source."""
    for i in range(len(rows)):
        for v in range(rows.shape[1]):
            if rows[i, v] < found.known[v]:
                found.known[v] = rows[i, v]
                _label(found, v, rows[i, v], first + i)


@njit(cache=True, nogil=True, fastmath=_EXACT)
def _rounded_up(x: NDArray, y: NDArray, enough: int, euclidean: bool) -> int:
    """Distance rounded up, or `enough` as soon as it is known to be no smaller."""
    total = 0.0
    limit = np.float64(enough)
    limit = limit * limit if euclidean else limit
    for first in range(0, len(x), 64):
        for j in range(first, min(first + 64, len(x))):
            side = x[j] - y[j]
            total += side * side if euclidean else abs(side)
        if total >= limit:
            return enough
    if not euclidean:
        return int(total)
    root = int(np.ceil(np.sqrt(total)))
    return root + int(root * root < int(total))


def over_boxes(pick: np.ufunc, values: NDArray, empty: float) -> NDArray:
    """The least or greatest (`pick`) of some values in every box, `empty` in one without points.

    A box is a block of consecutive points, or two of them and so on: an implicit binary tree from
    box 1 on. `values` (n_points, …): near points should have near indices.
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
