"""Reverse greedy: leave out the least missed center (Chrobak, Kenyon & Young 2006)."""

from __future__ import annotations

import numpy as np

from metricdp.arguments import Bools, Floats, Ints, integer, shown
from metricdp.errors import InputError


def reverse_greedy(points: Floats, weights: Floats, k: int, *, power: int = 2) -> Ints:
    """Numbers of k of the points that serve all of them, by weight: the others are removed one at a
    time, the cheapest first.

    An O(log m)-approximation in a metric (their Theorem 2.2), with constants to spare for squares.
    Every point knows its nearest and its second-nearest center, so what the removal of each center
    costs is one sum; after a removal only the points that knew the removed one look again: O(m²)
    memory, O(m²) time a removal at worst. Of equally cheap centers the first goes.

    References
    ----------
    M. Chrobak, C. Kenyon, N. Young, "The reverse greedy algorithm for the metric k-median problem",
    Inf. Process. Lett. 97 (2006).
    """
    m = len(points)
    if not 1 <= (integer(k) or 0) <= m:
        raise InputError(f"k must be an integer from 1 to {m:,}, got {shown(k)}")
    price = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)) ** power
    weight = np.maximum(weights, 0.0)
    open_to = np.ones(m, bool)
    nearest = np.tile(np.arange(m), (2, 1))  # of every point the nearest center, and the second
    _look(price, np.arange(m), open_to, nearest)
    rows = np.arange(m)
    for _ in range(m - k):
        missed = np.bincount(
            nearest[0], weight * (price[rows, nearest[1]] - price[rows, nearest[0]]), m
        )
        gone = int(np.argmin(np.where(open_to, missed, np.inf)))
        open_to[gone] = False
        _look(price, np.flatnonzero((nearest == gone).any(axis=0)), open_to, nearest)
    return np.flatnonzero(open_to)


def _look(price: Floats, at: Ints, open_to: Bools, nearest: Ints) -> None:
    """Find both nearest centers of these points anew; of one center both are the same."""
    centers = np.flatnonzero(open_to)
    if len(centers) == 1:
        nearest[:, at] = centers[0]
    elif len(at):
        rows = price[np.ix_(at, centers)]
        order = np.argsort(rows, axis=1, kind="stable")[:, :2]
        nearest[:, at] = centers[order].T
