"""Local search for opening costs on a block: sites open, close and change places."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.two_nearest import add_row


@njit(cache=True, nogil=True)
def two_cheapest(costs: NDArray, sites: NDArray, near: NDArray, d1: NDArray, d2: NDArray) -> None:
    """Fill the cheapest open site (index) of every client, its cost and that of the second."""
    near[:], d1[:], d2[:] = -1, np.inf, np.inf
    for i in sites:
        add_row(costs[i], i, near, d1, d2)


@njit(cache=True, nogil=True)
def _best_entry(
    costs: NDArray,
    prices: NDArray,
    site: int,
    near: NDArray,
    d1: NDArray,
    d2: NDArray,
    losses: NDArray,
    may_close: NDArray,
    opened: NDArray,
    change: NDArray,
) -> tuple[float, int]:
    """Change of the whole cost by opening a site, and the open site that then closes (-1: none)."""
    gain = prices[site]
    for i in opened:
        change[i] = 0.0
    for j in range(costs.shape[1]):
        c = costs[site, j]
        if c < d1[j]:
            gain += c - d1[j]
            change[near[j]] += d1[j] - d2[j]
        elif c < d2[j]:
            change[near[j]] += c - d2[j]
    least, out = gain, -1
    for i in opened:
        if may_close[i] and gain + losses[i] + change[i] < least:
            least, out = gain + losses[i] + change[i], i
    return least, out


@njit(cache=True, nogil=True)
def _closing_losses(
    prices: NDArray, opened: NDArray, near: NDArray, d1: NDArray, d2: NDArray, losses: NDArray
) -> None:
    """What closing each open site adds to the cost, its price taken off."""
    for i in opened:
        losses[i] = -prices[i]
    for j in range(len(near)):
        losses[near[j]] += d2[j] - d1[j]


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
    near, d1, d2 = np.empty(n, np.int64), np.empty(n), np.empty(n)
    losses, change = np.zeros(m), np.zeros(m)
    opened = np.flatnonzero(is_open)
    two_cheapest(costs, opened, near, d1, d2)
    _closing_losses(prices, opened, near, d1, d2, losses)
    vain, at = 0, 0
    while vain < m:
        site = order[at]
        at = (at + 1) % m
        vain += 1
        enters, leaves = -1, -1
        if is_open[site]:
            if may_close[site] and len(opened) > 1 and losses[site] < -tolerance:
                leaves = site
        else:
            change_of, out = _best_entry(
                costs, prices, site, near, d1, d2, losses, may_close, opened, change
            )
            if change_of < -tolerance:
                enters, leaves = site, out
        if enters < 0 and leaves < 0:
            continue
        if enters >= 0:
            is_open[enters] = True
        if leaves >= 0:
            is_open[leaves] = False
        opened = np.flatnonzero(is_open)
        two_cheapest(costs, opened, near, d1, d2)
        _closing_losses(prices, opened, near, d1, d2, losses)
        vain = 0
    return d1.sum() + prices[opened].sum()
