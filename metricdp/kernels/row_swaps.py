"""Exact changes of cost from rows of distances: candidates × demand points."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def row_changes(
    rows: NDArray,
    weights: NDArray,
    first: NDArray,
    c_first: NDArray,
    c_second: NDArray,
    losses: NDArray,
    slots: NDArray,
    changes: NDArray,
) -> None:
    """For each candidate the slot it best replaces, and the change of cost: fills `slots` and
    `changes`.

    `rows` hold costs to all demand points that a candidate may serve cheaper than their
    second-nearest center. O(n_candidates · (n_some + k)), after Resende & Werneck (EJOR 2007).
    """
    k = len(losses)
    change = np.empty(k, np.float64)
    for i in range(len(rows)):
        change[:] = losses
        shared = 0.0
        for j in range(rows.shape[1]):
            c = rows[i, j]
            if c < c_second[j]:
                far = c_second[j] if c_second[j] < np.inf else 0.0
                shared += weights[j] * min(c - c_first[j], 0.0)
                change[first[j]] += weights[j] * (max(c, c_first[j]) - far)
        slots[i] = np.argmin(change)
        changes[i] = shared + change[slots[i]]


@njit(cache=True, nogil=True)
def row_losses(
    weights: NDArray,
    first: NDArray,
    near: NDArray,
    far: NDArray,
    power: int,
    c_first: NDArray,
    c_second: NDArray,
    losses: NDArray,
) -> float:
    """Fill the two nearest costs and removal losses from distances; returns the cost."""
    losses[:] = 0.0
    cost = 0.0
    for j in range(len(weights)):
        c_first[j] = near[j] ** power
        c_second[j] = far[j] ** power
        cost += weights[j] * c_first[j]
        losses[first[j]] += weights[j] * (
            (c_second[j] if c_second[j] < np.inf else 0.0) - c_first[j]
        )
    return cost
