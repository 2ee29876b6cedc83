"""Exact integer scores of candidates: sums of clipped distances, and of indicators."""

from __future__ import annotations

from numba import njit
from numpy.typing import NDArray

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
