"""Local search for maximum coverage on CSR lists of who reaches whom."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def change_count(
    reach: tuple, gains: NDArray, worth: NDArray, count: NDArray, site: int, step: int
) -> None:
    """Open (step 1) or close (step -1) a site: update how often clients are covered and what each
    site would gain.

    `reach`: clients of every site and sites of every client (CSR). `worth` (n_levels + 1,
    n_clients): what covering a client once more is worth at each count.
    """
    indptr, clients, back, sites = reach
    last = len(worth) - 1
    for a in range(indptr[site], indptr[site + 1]):
        j = clients[a]
        before = worth[min(count[j], last), j]
        count[j] += step
        change = worth[min(count[j], last), j] - before
        if change != 0.0:
            for b in range(back[j], back[j + 1]):
                gains[sites[b]] += change


@njit(cache=True, nogil=True)
def removal_loss(reach: tuple, worth: NDArray, count: NDArray, site: int) -> float:
    """Coverage lost by closing an open site."""
    indptr, clients = reach[0], reach[1]
    last = len(worth) - 1
    loss = 0.0
    for a in range(indptr[site], indptr[site + 1]):
        j = clients[a]
        loss += worth[min(count[j] - 1, last), j]
    return loss


@njit(cache=True, nogil=True)
def cover_local_search(
    reach: tuple,
    gains: NDArray,
    worth: NDArray,
    count: NDArray,
    chosen: NDArray,
    is_open: NDArray,
    n_fixed: int,
    passes: int,
) -> None:
    """Swap single sites, except the first `n_fixed`, while coverage grows; updates all."""
    k = len(chosen)
    for _ in range(passes):
        better = False
        for i in range(n_fixed, k):
            old = chosen[i]
            loss = removal_loss(reach, worth, count, old)
            change_count(reach, gains, worth, count, old, np.int64(-1))
            is_open[old] = False
            best = old
            most = loss
            for site in range(len(gains)):
                if not is_open[site] and gains[site] > most + 1e-9 * abs(most):
                    best, most = site, gains[site]
            change_count(reach, gains, worth, count, best, np.int64(1))
            is_open[best] = True
            chosen[i] = best
            better = better or best != old
        if not better:
            break


@njit(cache=True, nogil=True)
def fill_greedily(
    reach: tuple,
    gains: NDArray,
    worth: NDArray,
    count: NDArray,
    chosen: NDArray,
    is_open: NDArray,
    n_chosen: int,
) -> None:
    """Fill ``chosen[n_chosen:]`` with the site of largest gain each time."""
    for i in range(n_chosen, len(chosen)):
        best = -1
        for site in range(len(gains)):
            if not is_open[site] and (best < 0 or gains[site] > gains[best]):
                best = site
        chosen[i] = best
        is_open[best] = True
        change_count(reach, gains, worth, count, best, np.int64(1))
