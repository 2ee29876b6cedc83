"""Exact changes of cost from rows of distances: candidates × the demand points that they may
concern.
"""

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
    """For each candidate the slot it had best replace, and the change of cost.

    `rows` (n_candidates, n_some): costs from candidates to demand points: at least all those that
    are cheaper to serve from a candidate than from their second-nearest center; `weights`,
    `c_first`, `c_second` (n_some,): demand, and the costs of serving it from its nearest and
    second-nearest center (infinite where there is none); `first` (n_some,): slot of the nearest
    center; `losses` (k,): what closing a slot adds to the cost; `slots`, `changes` (n_candidates,):
    filled.

    O(n_candidates · (n_some + k)); the decomposition of Resende & Werneck (EJOR 2007).
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
    """Fill the costs of the two nearest centers and the removal losses from distances (infinite: no
    second center); returns the cost.
    """
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
