"""Local search for coverage: sets of sites as lists of whom they reach."""

from __future__ import annotations

from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def change_count(
    reach: tuple, gains: NDArray, worth: NDArray, count: NDArray, site: int, step: int
) -> None:
    """Open (step 1) or close (step -1) a site: update who is covered how often, and what each site
    would add.

    `reach`: clients of every site and sites of every client (CSR). `worth` (n_levels + 1,
    n_clients): what covering a client once more adds at each count.
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
    """What closing an open site takes off the value."""
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
    open_: NDArray,
    n_fixed: int,
    passes: int,
) -> None:
    """Exchange single chosen sites after the first `n_fixed` while that adds; updates all."""
    k = len(chosen)
    for _ in range(passes):
        better = False
        for i in range(n_fixed, k):
            old = chosen[i]
            loss = removal_loss(reach, worth, count, old)
            change_count(reach, gains, worth, count, old, -1)
            open_[old] = False
            best = old
            most = loss
            for site in range(len(gains)):
                if not open_[site] and gains[site] > most + 1e-9 * abs(most):
                    best, most = site, gains[site]
            change_count(reach, gains, worth, count, best, 1)
            open_[best] = True
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
    open_: NDArray,
    first: int,
) -> None:
    """Open, from ``chosen[first]`` on, each time the site that adds most."""
    for i in range(first, len(chosen)):
        best = -1
        for site in range(len(gains)):
            if not open_[site] and (best < 0 or gains[site] > gains[best]):
                best = site
        chosen[i] = best
        open_[best] = True
        change_count(reach, gains, worth, count, best, 1)
