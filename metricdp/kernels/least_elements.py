"""Least-element lists: for each point, the points that are nearer to it than all before them in a
random order.

The sources of a batch see the distances as they were before it. Their entries are a superset of the
lists, of which `keep_entries` makes labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import DTypeLike, NDArray

from metricdp.kernels.heap import heap_drop, heap_push

_SLOTS = 64  # of the ring of buckets
BLOCK = 16
"""Points in a smallest box."""
_EXACT = {"reassoc", "contract"}  # sums of integers below 2**53 are the same in any order


class Workspace(NamedTuple):
    """What the searches of one thread write to: entries found (`points`, `distances`), linked lists
    of buckets, and a heap of what is beyond the last bucket. No size is too small to begin with.
    """

    points: NDArray
    distances: NDArray
    vertex: NDArray
    key: NDArray
    after: NDArray
    far_key: NDArray
    far_vertex: NDArray


class Labeling(NamedTuple):
    """What a search that labels writes to: `radii` decrease to 0, `filled` is at how many levels
    each vertex has a label in `labels` (n_points, n_levels).
    """

    number: int
    radii: NDArray
    filled: NDArray
    labels: NDArray


def no_levels(dtype: DTypeLike) -> Labeling:
    """For a search that lists entries, of distances of this dtype."""
    return Labeling(
        0, np.empty(0, dtype), np.empty(0, np.uint8), np.empty((0, 0), np.int32, order="F")
    )


def workspace(room: int, dtype: DTypeLike) -> Workspace:
    """Arrays of `room` places for distances of this dtype; untouched pages take no memory."""
    return Workspace(
        *(
            np.empty(room, kind)
            for kind in (np.int32, dtype, np.int32, dtype, np.int32, dtype, np.int32)
        )
    )


@njit(cache=True, nogil=True)
def graph_entries(
    graph: tuple,
    shift: int,
    sources: NDArray,
    begin: int,
    known: NDArray,
    trial: NDArray,
    space: Workspace,
    ends: NDArray,
    levels: Labeling,
) -> int:
    """Vertices strictly closer to a source than `known`, by one pruned search a source; or their
    labels.

    Buckets are ``2**shift`` wide, best near the median length. `known` holds distances to the
    nearest earlier source, `trial` this thread's copy. The entries of source i end at ``ends[i]``.
    With `levels`, `known` is updated by each source in order, and vertices are labeled directly.

    A vertex may be entered twice; the last distance is exact. ln n entries a vertex are expected in
    random order (Cohen 1997). The queue is a ring of buckets (Dial 1969; Meyer & Sanders 2003) with
    a heap beyond it.
    """
    points, distances, vertex, key, after, far_key, far_vertex = space
    indptr, indices, lengths = graph
    number, radii, filled, labels = levels
    room = len(points)
    head = np.full(_SLOTS, -1, np.int32)
    count = np.int64(0)
    listing = len(radii) == 0
    for i in range(begin, len(sources)):
        first = count
        used = np.int64(0)
        free = np.int64(-1)
        live = 0
        n_far = 0
        cursor = np.int64(0)
        full = False
        if trial[sources[i]] > 0:
            trial[sources[i]] = 0
            n_far = heap_push(far_key, far_vertex, 0, 0, sources[i])
        while live + n_far > 0 and not full:
            if live == 0:
                cursor = far_key[0] >> shift
            while n_far > 0 and far_key[0] >> shift == cursor and not full:
                item, free, used = _taken(free, used, after)
                _put(item, far_vertex[0], far_key[0], cursor, head, space)
                n_far = heap_drop(far_key, far_vertex, n_far)
                live += 1
                full = used == room
            item = np.int64(head[cursor & (_SLOTS - 1)])
            head[cursor & (_SLOTS - 1)] = -1
            if item < 0:
                cursor += 1
            while item >= 0 and not full:
                u = vertex[item]
                d = key[item]
                following = np.int64(after[item])
                after[item] = free
                free = item
                item = following
                live -= 1
                if d > trial[u]:
                    continue
                if listing:
                    points[count] = u
                    distances[count] = d
                    count += 1
                    full = count == room
                else:
                    level = filled[u]
                    while level < len(radii) and d <= radii[level]:
                        labels[u, level] = number + i
                        level += 1
                    filled[u] = level
                for a in range(indptr[u], indptr[u + 1]):
                    v = indices[a]
                    t = d + lengths[a]
                    if t < trial[v] and not full:
                        trial[v] = t
                        if (t >> shift) - cursor < _SLOTS:
                            new, free, used = _taken(free, used, after)
                            _put(new, v, t, t >> shift, head, space)
                            live += 1
                            full = used == room
                        else:
                            n_far = heap_push(far_key, far_vertex, n_far, t, v)
                            full = n_far == room
        for e in range(first, count):
            trial[points[e]] = known[points[e]]
        if full:
            for e in range(used):
                trial[vertex[e]] = known[vertex[e]]
            for e in range(n_far):
                trial[far_vertex[e]] = known[far_vertex[e]]
            return i
        ends[i] = count
    return len(sources)


@njit(cache=True, nogil=True)
def _taken(free: int, used: int, after: NDArray) -> tuple[int, int, int]:
    """(a free item, the next free one, the number of items used so far)."""
    if free < 0:
        return used, free, used + 1
    return free, int(after[free]), used


@njit(cache=True, nogil=True)
def _put(item: int, v: int, t: int, bucket: int, head: NDArray, space: Workspace) -> None:
    slot = bucket & (_SLOTS - 1)
    space.vertex[item] = v
    space.key[item] = t
    space.after[item] = head[slot]
    head[slot] = item


@njit(cache=True, nogil=True)
def keep_entries(
    entries: tuple,
    numbers: NDArray,
    share: int,
    shares: int,
    radii: NDArray,
    known: NDArray,
    trials: NDArray,
    labels: NDArray,
) -> None:
    """Take the entries of a batch, in any order, and label the levels that they decide.

    A point's label at a level is the least number of a source within the level's radius. So an
    entry changes a run of levels, up to the first with a smaller label. `shares` calls, one for
    each `share` of the points, may run at the same time.
    """
    points, distances, ends = entries
    start = np.int64(0)
    for i in range(len(numbers)):
        number = numbers[i]
        for e in range(start, ends[i]):
            v = points[e]
            if (v >> 10) & (shares - 1) != share:
                continue
            d = distances[e]
            if d < known[v]:
                known[v] = d
                for t in range(len(trials)):
                    trials[t, v] = d
            level = -1
            for radius in radii:  # without a branch
                level += radius >= d
            while level >= 0 and labels[v, level] > number:
                labels[v, level] = number
                level -= 1
        start = ends[i]


@njit(cache=True, nogil=True, fastmath=_EXACT)
def vector_entries(
    points: NDArray,
    boxes: tuple,
    euclidean: bool,
    sources: NDArray,
    begin: int,
    known: NDArray,
    space: Workspace,
    ends: NDArray,
) -> int:
    """As `graph_entries`, for integer points under the Euclidean or L1 distance rounded up, pruned
    by `boxes`: lowest and highest corners, and the largest `known` inside, by `over_boxes`.
    """
    low, high, farthest = boxes
    n, d = points.shape
    n_blocks = len(farthest) // 2
    room = len(space.points)
    count = np.int64(0)
    waiting = np.empty(64, np.int64)
    for i in range(begin, len(sources)):
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
                    if count == room:
                        return i
                    space.points[count] = v
                    space.distances[count] = distance
                    count += 1
        ends[i] = count
    return len(sources)


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
