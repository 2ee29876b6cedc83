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

from numba import njit
from numpy.typing import NDArray

PAGE_BITS = 9
"""A page holds 512 candidates: 4 KB."""


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
def claim_pages(
    row: NDArray, vertices: NDArray, free: NDArray, n_free: int, used: int
) -> tuple[int, int]:
    """Allocate the pages of a row of `overlap` in which these vertices lie, freed ones first."""
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
    weight: int,
    scale: tuple,
    old: tuple,
    new: tuple,
    gain: NDArray,
    table: NDArray,
    pages: NDArray,
) -> None:
    """Remove what a demand point adds under its `old` two nearest centers, and add what it adds
    under the `new` ones (slot -1: nothing).

    `vertices`: all that are nearer to the point than its second-nearest center, old or new, and
    maybe more; `distance`: of each.
    """
    shift, cap, power = scale
    old_slot, old_near, old_far = old
    slot, near, far = new
    low = (1 << PAGE_BITS) - 1
    for j in range(len(vertices)):
        y = vertices[j]
        c = coarse_cost(distance[j], shift, cap, power)
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
    """Fill ``removal[x]`` with the cost without slot x; return the cost with all."""
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
