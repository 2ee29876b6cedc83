"""The inner problem of the p-median Lagrangian, row by row."""

from __future__ import annotations

from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "nnan"})
def reduced_costs(costs: NDArray, multipliers: NDArray, out: NDArray) -> None:
    """Fill `out` (m,): ``sum over j of min(costs[i, j] - multipliers[j], 0)`` for every row i of
    `costs` (m, n), float64. O(m n).

    Sums are taken in an order of the compiler's choice: entry i is within ``n · 2**-52 · |out[i]|``
    of the exact value.
    """
    for i in range(len(costs)):
        row = costs[i]
        total = 0.0
        for j in range(len(row)):
            x = row[j] - multipliers[j]
            total += x if x < 0.0 else 0.0
        out[i] = total
