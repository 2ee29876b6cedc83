"""Local search for opening costs on a block: sites open, close and change places."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.block_swaps import (
    Labels,
    Workspace,
    block_losses,
    label_columns,
    row_change,
    workspace,
)


@njit(cache=True, nogil=True)
def _best_entry(
    row: NDArray,
    price: float,
    weights: NDArray,
    prices: NDArray,
    labels: Labels,
    losses: NDArray,
    space: Workspace,
) -> tuple[float, int]:
    """Change of the whole cost by opening a site, and the slot that then closes (-1: none)."""
    if len(prices) == 1:  # what serves a client second is nobody
        return price + np.minimum(row - labels.c_first, 0.0).sum(), -1
    gain = price + row_change(row, weights, labels, losses, space)
    out = int(np.argmin(space.change - prices))
    least = gain + space.change[out] - prices[out]
    return (least, out) if least < gain else (gain, -1)


@njit(cache=True, nogil=True)
def open_and_close(
    costs: NDArray,
    prices: NDArray,
    is_open: NDArray,
    may_close: NDArray,
    order: NDArray,
    tolerance: float,
) -> float:
    """Open, close and exchange single sites while that lowers the cost, which is returned. `prices`
    are of opening, `order` is in which closed sites are tried.
    """
    m, n = costs.shape
    weights = np.ones(n)  # they are in the costs
    cost, vain, at = np.inf, 0, 0
    while vain < m:
        opened = np.flatnonzero(is_open)
        labels, losses = label_columns(costs, opened), np.empty(len(opened))
        space = workspace(n, len(opened))
        own = np.where(may_close[opened], prices[opened], -np.inf)
        cost = block_losses(weights, 0, labels, losses) + prices[opened].sum()
        vain, moved = 0, False
        while vain < m and not moved:
            site = order[at]
            at = (at + 1) % m
            vain += 1
            if is_open[site]:
                slot = np.searchsorted(opened, site)
                moved = len(opened) > 1 and losses[slot] - own[slot] < -tolerance
                is_open[site] = not moved
                continue
            change, slot = _best_entry(
                costs[site], prices[site], weights, own, labels, losses, space
            )
            moved = change < -tolerance
            if moved:
                is_open[site] = True
                if slot >= 0:
                    is_open[opened[slot]] = False
    return cost
