"""Exact integer costs of all swaps of one center for one point, as sums over demand points.

Let c1 <= c2 be the costs of serving demand point p of weight w from its two nearest centers, and
c(y) from y. The cost of centers F without x and with y is

    removal[x] + gain[y] + overlap[x, y],

    removal[x]    = sum of w · c1, and of w · (c2 - c1) where x is nearest
    gain[y]       = sum of w · (min(c(y), c1) - c1)
    overlap[x, y] = sum, where x is nearest, of w · (min(c(y), c2) - c2 - min(c(y), c1) + c1)

(Resende & Werneck, EJOR 2007; FastPAM1, Schubert & Rousseeuw, Inf. Syst. 2021). A search from p
ends at its second-nearest center. `overlap` is kept in pages: row x has one only where something of
its cluster reaches. All numbers are int64, so the order of points does not matter.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.heap import FAR

PAGE_BITS = 9
"""A page holds 512 candidates: 4 KB."""
PILES = 32
"""A search raises its threshold this often, about."""
QUEUED = np.uint8(1)
LATER = np.uint8(2)


@njit(cache=True, nogil=True, inline="always")
def coarse_cost(distance: int, shift: int, cap: int, power: int) -> int:
    """``min(ceil(distance / 2**shift), cap) ** power``."""
    d = min(-(-distance >> shift), cap)
    return d * d if power == 2 else d


@njit(cache=True, nogil=True)
def coarse_costs(distances: NDArray, shift: int, cap: int, power: int, out: NDArray) -> None:
    """`coarse_cost` of every distance."""
    for i in range(len(distances)):
        out[i] = coarse_cost(distances[i], shift, cap, power)


@njit(cache=True, nogil=True)
def ball(graph: tuple, source: int, bound: int, space: tuple) -> int:
    """Find all vertices strictly nearer to `source` than `bound`; `release_ball` cleans the work
    space.

    No order is needed, so there is no heap: vertices below a threshold are relaxed first in, first
    out, others wait until it is raised (Davidson et al., IPDPS 2014). Twice as fast on roads.
    """
    indptr, indices, lengths = graph
    distance, place, touched, queue, later = space
    if bound <= 0:
        return 0
    n = len(distance)
    step = max(bound // PILES, 1)
    distance[source] = 0
    touched[0] = source
    queue[0] = source
    place[source] = QUEUED
    count = 1
    head = 0
    size = 1
    n_later = 0
    least = FAR
    threshold = np.int64(step)
    while True:
        while size > 0:
            v = queue[head]
            head = head + 1 if head + 1 < n else 0
            size -= 1
            place[v] = 0
            d = distance[v]
            for a in range(indptr[v], indptr[v + 1]):
                u = indices[a]
                t = d + lengths[a]
                if t >= distance[u] or t >= bound:
                    continue
                if distance[u] == FAR:
                    touched[count] = u
                    count += 1
                distance[u] = t
                if t < threshold:
                    if place[u] != QUEUED:
                        tail = head + size
                        queue[tail if tail < n else tail - n] = u
                        place[u] = QUEUED
                        size += 1
                else:
                    least = min(least, t)
                    if place[u] != LATER:
                        later[n_later] = u
                        place[u] = LATER
                        n_later += 1
        if n_later == 0:
            return count
        threshold = least + step
        least = FAR
        kept = 0
        for j in range(n_later):
            u = later[j]
            if place[u] != LATER:
                continue
            if distance[u] < threshold:
                queue[(head + size) % n] = u
                place[u] = QUEUED
                size += 1
            else:
                least = min(least, distance[u])
                later[kept] = u
                kept += 1
        n_later = kept


@njit(cache=True, nogil=True)
def release_ball(space: tuple, count: int) -> None:
    """Reset the work space of a `ball` of `count` vertices."""
    for j in range(count):
        space[0][space[2][j]] = FAR


@njit(cache=True, nogil=True)
def claim_pages(
    row: NDArray, vertices: NDArray, free: NDArray, n_free: int, used: int
) -> tuple[int, int]:
    """Give a row of `overlap` the pages in which these vertices lie, freed ones first."""
    for j in range(len(vertices)):
        page = vertices[j] >> PAGE_BITS
        if row[page] < 0:
            if n_free > 0:
                n_free -= 1
                row[page] = free[n_free]
            else:
                row[page] = used
                used += 1
    return n_free, used


@njit(cache=True, nogil=True)
def exchange(
    vertices: NDArray,
    distance: NDArray,
    packed: bool,
    weight: int,
    scale: tuple,
    old: tuple,
    new: tuple,
    gain: NDArray,
    table: NDArray,
    pages: NDArray,
) -> None:
    """Take back what one demand point added under its `old` two nearest centers, and add what it
    adds under the `new` ones (slot -1: nothing).

    `vertices`: at least all nearer to the point than its second-nearest center, old and new;
    `distance` is by entry if `packed`, else by vertex.
    """
    shift, cap, power = scale
    old_slot, old_near, old_far = old
    slot, near, far = new
    low = (1 << PAGE_BITS) - 1
    for j in range(len(vertices)):
        y = vertices[j]
        c = coarse_cost(distance[j] if packed else distance[y], shift, cap, power)
        before = min(c - old_near, 0)
        after = min(c - near, 0)
        gain[y] += weight * (after - before)
        if old_slot >= 0 and c < old_far:
            pages[table[old_slot, y >> PAGE_BITS], y & low] -= weight * (c - old_far - before)
        if slot >= 0 and c < far:
            pages[table[slot, y >> PAGE_BITS], y & low] += weight * (c - far - after)


@njit(cache=True, nogil=True)
def removal_costs(
    slots: NDArray, near: NDArray, far: NDArray, weights: NDArray, removal: NDArray
) -> int:
    """Fill ``removal[x]`` with the cost without slot x, and return the cost of all."""
    removal[:] = 0
    total = 0
    for i in range(len(slots)):
        total += weights[i] * near[i]
        removal[slots[i]] += weights[i] * (far[i] - near[i])
    for x in range(len(removal)):
        removal[x] += total
    return total


@njit(cache=True, nogil=True)
def swap_costs(
    removal: int, candidates: NDArray, gain: NDArray, row: NDArray, pages: NDArray, out: NDArray
) -> None:
    """Fill `out` with the costs of swapping one slot for each candidate."""
    low = (1 << PAGE_BITS) - 1
    for j in range(len(candidates)):
        y = candidates[j]
        page = row[y >> PAGE_BITS]
        out[j] = removal + gain[y] + (pages[page, y & low] if page >= 0 else 0)
