"""Local search for facility location on a block of costs: open, close and swap."""

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
    """Change of cost when a site opens, and the slot that then closes, -1 for none."""
    if len(prices) == 1:  # there is no second site
        return price + np.minimum(row - labels.c_first, 0.0).sum(), -1
    gain = price + row_change(row, weights, labels, losses, space)
    closing = int(np.argmin(space.change - prices))
    swapped = gain + space.change[closing] - prices[closing]
    return (swapped, closing) if swapped < gain else (gain, -1)


@njit(cache=True, nogil=True)
def open_and_close(
    costs: NDArray,
    prices: NDArray,
    is_open: NDArray,
    may_close: NDArray,
    order: NDArray,
    tolerance: float,
) -> float:
    """Open, close and swap single sites while that lowers the cost, which is returned; changes
    `is_open`. `prices`: opening costs; `order`: in which sites are tried.
    """
    m, n = costs.shape
    weights = np.ones(n)  # the costs hold them
    cost, n_rejected, position = np.inf, 0, 0
    while n_rejected < m:
        opened = np.flatnonzero(is_open)
        labels, losses = label_columns(costs, opened), np.empty(len(opened))
        space = workspace(n, len(opened))
        closing_gain = np.where(may_close[opened], prices[opened], -np.inf)
        cost = block_losses(weights, np.int64(0), labels, losses) + prices[opened].sum()
        n_rejected, improved = 0, False
        while n_rejected < m and not improved:
            site = order[position]
            position = (position + 1) % m
            n_rejected += 1
            if is_open[site]:
                slot = np.searchsorted(opened, site)
                improved = len(opened) > 1 and losses[slot] - closing_gain[slot] < -tolerance
                is_open[site] = not improved
                continue
            change, slot = _best_entry(
                costs[site], prices[site], weights, closing_gain, labels, losses, space
            )
            improved = change < -tolerance
            if improved:
                is_open[site] = True
                if slot >= 0:
                    is_open[opened[slot]] = False
    return cost
