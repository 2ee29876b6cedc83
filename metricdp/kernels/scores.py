"""Exact integer scores of candidates: sums of clipped distances, and of indicators; amounts added
over public sets, balls of a graph or CSR rows.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.shortest_paths import Workspace, forget, search

CAP = 2**61
"""Sums saturate here, so that differences of two fit int64."""


@njit(cache=True, nogil=True)
def add_costs(
    rows: NDArray, counts: NDArray, reach: NDArray, shift: int, squared: bool, total: NDArray
) -> None:
    """Add ``counts[i] * min(ceil(rows[i, c] / 2**shift), reach[i])**(1 or 2)`` to ``total[c]``,
    saturating at CAP. Terms are not negative, so the order does not matter.
    """
    for i in range(len(rows)):
        for c in range(rows.shape[1]):
            d = min(-(-rows[i, c] >> shift), reach[i])
            if squared:
                d = d * d
            if d > 0:
                total[c] = CAP if counts[i] > (CAP - total[c]) // d else total[c] + counts[i] * d


@njit(cache=True, nogil=True)
def add_covered(rows: NDArray, counts: NDArray, radius: int, total: NDArray) -> None:
    """Add ``counts[i]`` to ``total[c]`` wherever ``rows[i, c] <= radius``, saturating at CAP.

    Exact for counts that are not negative, and for others as long as no sum passes CAP.
    """
    for i in range(len(rows)):
        for c in range(rows.shape[1]):
            if rows[i, c] <= radius:
                total[c] = min(total[c] + min(counts[i], CAP), CAP)


@njit(cache=True, nogil=True)
def capped_dot(values: NDArray, counts: NDArray) -> int:
    """``min(CAP, sum of values[i] * counts[i])`` of integers that are not negative."""
    total = 0
    for i in range(len(values)):
        d = int(values[i])
        if d > 0:
            total = CAP if counts[i] > (CAP - total) // d else total + counts[i] * d
    return total


@njit(cache=True, nogil=True)
def add_balls(
    graph: tuple, sources: NDArray, amounts: NDArray, radius: int, total: NDArray, space: Workspace
) -> int:
    """Add ``amounts[i]`` to ``total[v]`` for every vertex within `radius` of ``sources[i]``.
    ``space.touched`` holds the last source's ball by distance, whose size is returned.
    """
    count = 0
    for i in range(len(sources)):
        count = search(graph, sources[i], radius, len(total), np.int64(1), space)
        for j in range(count):
            total[space.touched[j]] += amounts[i]
        forget(space, count)
    return count


@njit(cache=True, nogil=True)
def add_rows(
    indptr: NDArray, members: NDArray, rows: NDArray, amounts: NDArray, total: NDArray
) -> None:
    """Add ``amounts[i]`` to ``total[e]`` for every entry e of row ``rows[i]``, rows in CSR form."""
    for i in range(len(rows)):
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total[members[j]] += amounts[i]
