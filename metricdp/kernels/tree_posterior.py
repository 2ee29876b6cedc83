"""Exact sum-product message passing for counts on a binary tree, on one uniform grid of values a
node.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_NEGLIGIBLE = 1e-12
"""Probability of a value below which it is left out of the downward pass."""


@njit(cache=True, nogil=True, inline="always")
def _read(message: NDArray, low: float, step: float, x: float) -> float:
    """Linear interpolation of a message at x; nothing outside its grid."""
    at = (x - low) / step
    if at < -1e-9 or at > len(message) - 1 + 1e-9:
        return 0.0
    i = min(max(int(at), 0), len(message) - 2)
    f = at - i
    return message[i] * (1.0 - f) + message[i + 1] * f


@njit(cache=True, nogil=True, inline="always")
def _deposit(message: NDArray, low: float, step: float, x: float, amount: float) -> None:
    """The adjoint of `_read`."""
    at = (x - low) / step
    if at < -1e-9 or at > len(message) - 1 + 1e-9:
        return
    i = min(max(int(at), 0), len(message) - 2)
    f = at - i
    message[i] += amount * (1.0 - f)
    message[i + 1] += amount * f


@njit(cache=True, nogil=True)
def upward(
    children: NDArray,
    low: NDArray,
    step: NDArray,
    fractions: NDArray,
    chances: NDArray,
    inside: NDArray,
) -> float:
    """Likelihood of all noisy counts below a node given its true count, for every node.

    Parameters
    ----------
    children : ndarray of int64, shape (m - 1, 2)
    low, step : ndarray of float64, shape (2m - 1,)
        Node v's grid is ``low[v] + step[v] · arange(G)``.
    fractions : ndarray of float64, shape (m - 1, S)
        Possible shares of the left child.
    chances : ndarray of float64, shape (m - 1, S)
        Their prior probabilities; each row sums to one.
    inside : ndarray of float64, shape (2m - 1, G)
        Rows of the leaves are given, the rest are filled; each is scaled to a maximum of 1.

    Returns
    -------
    float
        Sum of the logarithms of the scale factors.
    """
    m = len(children) + 1
    grid = inside.shape[1]
    evidence = 0.0
    for i in range(m - 1):
        v, left, right = m + i, children[i, 0], children[i, 1]
        top = 0.0
        for g in range(grid):
            x = low[v] + step[v] * g
            total = 0.0
            for q in range(fractions.shape[1]):
                if chances[i, q] > 0.0:
                    a = _read(inside[left], low[left], step[left], fractions[i, q] * x)
                    if a > 0.0:
                        total += (
                            chances[i, q]
                            * a
                            * _read(
                                inside[right], low[right], step[right], (1.0 - fractions[i, q]) * x
                            )
                        )
            inside[v, g] = total
            top = max(top, total)
        if top > 0.0:
            inside[v] /= top
            evidence += np.log(top)
        else:
            inside[v] = 1.0
    return evidence


@njit(cache=True, nogil=True)
def downward(
    children: NDArray,
    low: NDArray,
    step: NDArray,
    fractions: NDArray,
    chances: NDArray,
    inside: NDArray,
    outside: NDArray,
    posterior: NDArray,
) -> None:
    """Messages from the root down, and the posterior of every split's share.

    `outside` has shape (2m - 1, G): the root's row is given (the prior of the total), the rest are
    filled, each scaled to sum 1. `posterior`, shape (m - 1, S), gets the probabilities of the
    shares given everything; other parameters as in `upward`.
    """
    m = len(children) + 1
    grid = inside.shape[1]
    for i in range(m - 2, -1, -1):
        v, left, right = m + i, children[i, 0], children[i, 1]
        outside[left] = 0.0
        outside[right] = 0.0
        posterior[i] = 0.0
        for g in range(grid):
            mass = outside[v, g]
            if mass <= _NEGLIGIBLE:
                continue
            x = low[v] + step[v] * g
            for q in range(fractions.shape[1]):
                if chances[i, q] <= 0.0:
                    continue
                x_left, x_right = fractions[i, q] * x, (1.0 - fractions[i, q]) * x
                a = _read(inside[left], low[left], step[left], x_left)
                b = _read(inside[right], low[right], step[right], x_right)
                if b > 0.0:
                    _deposit(outside[left], low[left], step[left], x_left, mass * chances[i, q] * b)
                if a > 0.0:
                    _deposit(
                        outside[right], low[right], step[right], x_right, mass * chances[i, q] * a
                    )
                posterior[i, q] += mass * chances[i, q] * a * b
        for child in (left, right):
            total = outside[child].sum()
            if total > 0.0:
                outside[child] /= total
            else:
                outside[child] = 1.0 / grid
        total = posterior[i].sum()
        if total > 0.0:
            posterior[i] /= total
        else:
            posterior[i] = chances[i]
