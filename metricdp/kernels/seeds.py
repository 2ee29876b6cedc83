"""Seeding and swaps of centers among points in R^d, and a density inside cells."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.copying import copy_into
from metricdp.kernels.two_nearest import add_row


@njit(cache=True, nogil=True, inline="always")
def _powered_distance(points: NDArray, i: int, center: NDArray, power: int) -> float:
    """Distance of a point to the power 1 or 2."""
    total = 0.0
    for x in range(points.shape[1]):
        total += (points[i, x] - center[x]) ** 2
    return total if power == 2 else np.sqrt(total)


@njit(cache=True, nogil=True)
def seeds(points: NDArray, weights: NDArray, coins: NDArray, power: int) -> NDArray:
    """Greedy k-means++: indices of k points, each the best of a few drawn by weight and distance to
    the power.

    `coins` (k, trials): uniform in [0, 1), of whose first row one is used. O(k · trials · n · d).
    """
    n = len(points)
    k, trials = coins.shape
    chosen = np.empty(k, np.int64)
    distance = np.full(n, np.inf)
    row = np.empty(n)
    best = np.empty(n)
    weight = weights.copy() if weights.sum() > 0 else np.ones(n)
    density = weight.copy()
    for i in range(k):
        if i > 0:
            weight = density * distance
        weight = np.cumsum(weight)
        least = np.inf
        chosen[i] = i % n
        for t in range(trials if i > 0 and weight[-1] > 0 else 1):
            at = i % n
            if weight[-1] > 0:
                at = min(np.searchsorted(weight, coins[i, t] * weight[-1], side="right"), n - 1)
            cost = 0.0
            for p in range(n):
                row[p] = min(distance[p], _powered_distance(points, p, points[at], power))
                cost += density[p] * row[p]
            if cost < least:
                least = cost
                chosen[i] = at
                row, best = best, row
        copy_into(distance, best)
    return chosen


@njit(cache=True, nogil=True)
def two_least(points: NDArray, centers: NDArray, power: int) -> tuple[NDArray, NDArray, NDArray]:
    """Nearest center of every point, and the powered distances to it and to the next."""
    n = len(points)
    label = np.zeros(n, np.int64)
    near = np.full(n, np.inf)
    after = np.full(n, np.inf)
    row = np.empty(n)
    for j in range(len(centers)):
        for i in range(n):
            row[i] = _powered_distance(points, i, centers[j], power)
        add_row(row, j, label, near, after)
    return label, near, after


@njit(cache=True, nogil=True)
def swaps(
    points: NDArray, weights: NDArray, centers: NDArray, coins: NDArray, power: int, min_gain: float
) -> int:
    """Swap search (Lattanzi & Sohler, ICML 2019): each of the uniform `coins` draws a point by
    weight · distance^power, which replaces the center whose removal then costs least, if the cost
    falls by more than the fraction `min_gain`. Changes `centers`; returns the number of swaps.

    O(n · d) for each coin, O(n · k · d) for each swap.
    """
    n, k = len(points), len(centers)
    label, near, after = two_least(points, centers, power)
    loss = np.empty(k)
    found = 0
    for coin in coins:
        weight = np.cumsum(weights * near)
        if weight[-1] <= 0:
            break
        at = min(np.searchsorted(weight, coin * weight[-1], side="right"), n - 1)
        cost = 0.0
        loss[:] = 0.0
        for p in range(n):
            away = _powered_distance(points, p, points[at], power)
            here = min(near[p], away)
            cost += weights[p] * here
            loss[label[p]] += weights[p] * (min(after[p], away) - here)
        removed = np.argmin(loss)
        if weight[-1] - cost - loss[removed] > min_gain * weight[-1]:
            copy_into(centers[removed], points[at])
            label, near, after = two_least(points, centers, power)
            found += 1
    return found


@njit(cache=True, nogil=True)
def blurred(
    places: NDArray, points: NDArray, weights: NDArray, sides: NDArray, near: NDArray, width: float
) -> NDArray:
    """Density at `places` (m, n, d) of m cells, shape (m, n): a sum of Gaussians over the cells
    `near` each (m, c), as wide as these, smoothed by `width` of the cell's `sides` (m, d), which
    are positive.

    `points` (m, d): centers of the cells; `weights` (m,). O(m · n · c · d).
    """
    m, n, d = places.shape
    density = np.full((m, n), 1e-300)
    for i in range(m):
        for other in near[i]:
            variance = (width * sides[i]) ** 2 + sides[other] ** 2 / 12.0
            height = weights[other] / np.sqrt(variance).prod()
            for p in range(n):
                away = 0.0
                for x in range(d):
                    away += (places[i, p, x] - points[other, x]) ** 2 / variance[x]
                density[i, p] += height * np.exp(-away / 2.0)
    return density
