"""Eager swap local search on a block of distances, candidates × demand points, row by row."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def block_seeds(block: NDArray, weights: NDArray, uniforms: NDArray, demand_of: NDArray, centers: NDArray) -> None:
    """k-median++ among the candidates: each next row is the one nearest to a demand point drawn by weight × cost.

    `demand_of[j]` is the row nearest to demand point j; `uniforms` (k,) in [0, 1). Fills `centers` (k,) with distinct row numbers.
    """
    m, n = block.shape
    near = np.full(n, np.inf)
    mass = np.empty(n, np.float64)
    chosen = np.zeros(m, np.bool_)
    for i in range(len(centers)):
        total = 0.0
        for j in range(n):
            w = max(weights[j], 0.0)
            total += w if i == 0 else w * near[j]
            mass[j] = total
        row = -1
        if total > 0:
            j = min(np.searchsorted(mass, uniforms[i] * total, side="right"), n - 1)
            row = demand_of[j]
        if row < 0 or chosen[row]:
            row = int(uniforms[i] * m)
            while chosen[row]:
                row = (row + 1) % m
        chosen[row] = True
        centers[i] = row
        for j in range(n):
            near[j] = min(near[j], block[row, j])


@njit(cache=True, nogil=True)
def _two_nearest_rows(
    block: NDArray, centers: NDArray, j: int, first: NDArray, second: NDArray, c_first: NDArray, c_second: NDArray
) -> None:
    a, b = -1, -1
    da, db = np.inf, np.inf
    for i in range(len(centers)):
        d = np.float64(block[centers[i], j])
        if d < da:
            b, db = a, da
            a, da = i, d
        elif d < db:
            b, db = i, d
    first[j], second[j], c_first[j] = a, b, da
    c_second[j] = db if b >= 0 else 0.0


@njit(cache=True, nogil=True)
def block_local_search(block: NDArray, weights: NDArray, centers: NDArray, order: NDArray, tolerance: float, max_swaps: int) -> float:
    """Eager swaps until no candidate row improves the weighted cost; `centers` (row numbers) is updated in place.

    Parameters
    ----------
    block : ndarray of float, shape (n_candidates, n_demand)
        Cost of serving a demand point from a candidate (already raised to the power).
    weights : ndarray of float64, shape (n_demand,)
        May be negative.
    centers : ndarray of int64, shape (k,)
    order : ndarray of int64
        Order in which rows are tried, again and again.
    tolerance : float
        A swap must lower the cost by more than this fraction of it.
    max_swaps : int

    Returns
    -------
    float
        The final cost.

    Notes
    -----
    One row costs O(n_demand): the gain of opening it and closing each of the k centers is known from nearest and second-nearest costs
    (Resende & Werneck 2007; FastPAM1, Schubert & Rousseeuw 2021).
    """
    m, n = block.shape
    k = len(centers)
    first, second = np.empty(n, np.int64), np.empty(n, np.int64)
    c_first, c_second = np.empty(n, np.float64), np.empty(n, np.float64)
    for j in range(n):
        _two_nearest_rows(block, centers, j, first, second, c_first, c_second)
    opened = np.zeros(m, np.bool_)
    opened[centers] = True
    losses, change = np.empty(k, np.float64), np.empty(k, np.float64)
    cost, since, at, swaps, fresh = 0.0, 0, 0, 0, False
    while since < len(order) and swaps < max_swaps:
        if not fresh:
            cost, fresh = 0.0, True
            losses[:] = 0.0
            for j in range(n):
                cost += weights[j] * c_first[j]
                losses[first[j]] += weights[j] * (c_second[j] - c_first[j])
        row = order[at]
        at = at + 1 if at + 1 < len(order) else 0
        since += 1
        if opened[row]:
            continue
        change[:] = losses
        shared = 0.0
        for j in range(n):
            d = np.float64(block[row, j])
            if d < c_first[j]:
                shared += weights[j] * (d - c_first[j])
                change[first[j]] += weights[j] * (c_first[j] - c_second[j])
            elif d < c_second[j] or k == 1:
                change[first[j]] += weights[j] * (d - c_second[j])
        slot = np.argmin(change)
        if shared + change[slot] >= -tolerance * abs(cost):
            continue
        opened[centers[slot]] = False
        opened[row] = True
        centers[slot] = row
        for j in range(n):
            d = np.float64(block[row, j])
            if first[j] == slot or second[j] == slot:
                _two_nearest_rows(block, centers, j, first, second, c_first, c_second)
            elif d < c_first[j]:
                second[j], c_second[j] = first[j], c_first[j]
                first[j], c_first[j] = slot, d
            elif d < c_second[j]:
                second[j], c_second[j] = slot, d
        since, fresh = 0, False
        swaps += 1
    cost = 0.0
    for j in range(n):
        cost += weights[j] * c_first[j]
    return cost
