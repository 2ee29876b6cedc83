"""The inner problem of the p-median Lagrangian on CSR lists by row.

Entries of row i are ``start[i]`` to ``start[i + 1]`` of `client` (int32, the demand point) and
`cost` (float64).
"""

from __future__ import annotations

from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "nnan"})
def reduced_costs(
    start: NDArray,
    client: NDArray,
    cost: NDArray,
    multipliers: NDArray,
    rows: NDArray,
    reduced: NDArray,
) -> None:
    """Fill `reduced`: the sum of ``min(cost - multipliers[client], 0)`` over each of `rows`."""
    for i in rows:
        total = 0.0
        for e in range(start[i], start[i + 1]):
            x = cost[e] - multipliers[client[e]]
            total += x if x < 0.0 else 0.0
        reduced[i] = total


@njit(cache=True, nogil=True)
def served(
    start: NDArray,
    client: NDArray,
    cost: NDArray,
    multipliers: NDArray,
    rows: NDArray,
    count: NDArray,
) -> None:
    """Fill `count` (n,): how many of `rows` serve each demand point below its multiplier."""
    count[:] = 0.0
    for i in rows:
        for e in range(start[i], start[i + 1]):
            if cost[e] < multipliers[client[e]]:
                count[client[e]] += 1.0


@njit(cache=True, nogil=True)
def cheapest(start: NDArray, client: NDArray, cost: NDArray, rows: NDArray, least: NDArray) -> None:
    """Lower `least` (n,) to the cheapest cost from any of `rows`."""
    for i in rows:
        for e in range(start[i], start[i + 1]):
            least[client[e]] = min(least[client[e]], cost[e])


@njit(cache=True, nogil=True)
def kept_entries(
    start: NDArray,
    client: NDArray,
    cost: NDArray,
    multipliers: NDArray,
    rows: NDArray,
    slack: NDArray,
    new_start: NDArray,
    new_client: NDArray,
    new_cost: NDArray,
) -> None:
    """Fill the entries of `rows` whose cost exceeds the multiplier by at most `slack`."""
    at = 0
    new_start[0] = 0
    for r in range(len(rows)):
        i = rows[r]
        for e in range(start[i], start[i + 1]):
            if cost[e] - multipliers[client[e]] <= slack[r]:
                new_client[at] = client[e]
                new_cost[at] = cost[e]
                at += 1
        new_start[r + 1] = at
