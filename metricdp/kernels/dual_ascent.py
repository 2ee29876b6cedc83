"""Costs of near pairs as lists by row, and the inner problem of the p-median Lagrangian on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Entries(NamedTuple):
    """Pairs of row and demand point with their costs, by row.

    `start` (n_rows + 1,): where the entries of each row begin; `client`: demand points; `cost`: of
    serving them from the row, times their weight.
    """

    start: NDArray[np.int64]
    client: NDArray[np.int32]
    cost: NDArray[np.float64]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    @property
    def row(self) -> NDArray[np.int64]:
        """Row of each entry."""
        return np.repeat(np.arange(self.rows), np.diff(self.start))

    def among(
        self, rows: NDArray, multipliers: NDArray | None = None, slack: NDArray | None = None
    ) -> Entries:
        """Entries of these rows, with `slack` (n_rows,) up to the multiplier plus that."""
        if multipliers is None or slack is None:
            multipliers = np.zeros(1 + int(self.client.max(initial=0)))
            slack = np.full(len(rows), np.inf)
        most = int((self.start[rows + 1] - self.start[rows]).sum())
        found = Entries(np.empty(len(rows) + 1, np.int64), np.empty(most, np.int32), np.empty(most))
        _fill_kept(self, multipliers, rows, slack, found)
        n_kept = found.start[-1]
        return Entries(found.start, found.client[:n_kept].copy(), found.cost[:n_kept].copy())


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "nnan"})
def reduced_costs(entries: Entries, multipliers: NDArray, rows: NDArray, reduced: NDArray) -> None:
    """Fill `reduced`: the sum of ``min(cost - multipliers[client], 0)`` over each of `rows`."""
    start, client, cost = entries
    for i in rows:
        total = 0.0
        for e in range(start[i], start[i + 1]):
            x = cost[e] - multipliers[client[e]]
            total += x if x < 0.0 else 0.0
        reduced[i] = total


@njit(cache=True, nogil=True)
def served(entries: Entries, multipliers: NDArray, rows: NDArray, count: NDArray) -> None:
    """Fill `count` (n,): how many of `rows` serve each demand point below its multiplier."""
    start, client, cost = entries
    count[:] = 0.0
    for i in rows:
        for e in range(start[i], start[i + 1]):
            if cost[e] < multipliers[client[e]]:
                count[client[e]] += 1.0


@njit(cache=True, nogil=True)
def cheapest(entries: Entries, rows: NDArray, least: NDArray) -> None:
    """Lower `least` (n,) to the cheapest cost from any of `rows`."""
    start, client, cost = entries
    for i in rows:
        for e in range(start[i], start[i + 1]):
            least[client[e]] = min(least[client[e]], cost[e])


@njit(cache=True, nogil=True)
def _fill_kept(
    entries: Entries, multipliers: NDArray, rows: NDArray, slack: NDArray, kept: Entries
) -> None:
    """Fill the entries of `rows` whose cost exceeds the multiplier by at most `slack`."""
    start, client, cost = entries
    at = 0
    kept.start[0] = 0
    for r in range(len(rows)):
        i = rows[r]
        for e in range(start[i], start[i + 1]):
            if cost[e] - multipliers[client[e]] <= slack[r]:
                kept.client[at] = client[e]
                kept.cost[at] = cost[e]
                at += 1
        kept.start[r + 1] = at
