"""Exact sum-product message passing for counts on a binary tree, on grids of values."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_NEGLIGIBLE = 1e-12
"""Probability of a value below which it is left out of the downward pass."""
_RARE = 1e-10
"""Likelihood, or prior probability of a share, below which it is left out of both."""


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
def _line(low: NDArray, step: NDArray, node: int, child: int, share: float) -> tuple[float, float]:
    """Start and pace: a share of the node's g-th value lies at start + pace · g."""
    return (share * low[node] - low[child]) / step[child], share * step[node] / step[child]


@njit(cache=True, nogil=True, inline="always")
def _within(first: int, last: int, start: float, pace: float, top: int) -> tuple[int, int]:
    """Those g of first, …, last for which start + pace · g lies in [0, top]."""
    if pace <= 0.0:
        if start < -1e-9 or start > top + 1e-9:
            return first, first - 1
        return first, last
    most = (top + 1e-9 - start) / pace
    least = (-1e-9 - start) / pace
    if most < first or least > last:
        return first, first - 1
    return max(first, int(np.ceil(least))), min(last, int(np.floor(most)))


@njit(cache=True, nogil=True, inline="always")
def _support(message: NDArray, least: float) -> tuple[int, int]:
    """First and last index of more than `least`."""
    first = 0
    last = len(message) - 1
    while first <= last and message[first] <= least:
        first += 1
    while last > first and message[last] <= least:
        last -= 1
    return first, last


@njit(cache=True, nogil=True)
def upward(
    children: NDArray,
    low: NDArray,
    step: NDArray,
    fractions: NDArray,
    chances: NDArray,
    seen: NDArray,
    inside: NDArray,
) -> float:
    """Likelihood of all noisy counts at and below a node given its true count: fills `inside` (2m -
    1, G).

    Node v's grid is ``low[v] + step[v] · arange(G)``. `fractions` and `chances` (m - 1, S): shares
    of the left child and their prior. `seen`: likelihood of the node's own counts.
    """
    m = len(children) + 1
    grid = inside.shape[1]
    evidence = 0.0
    inside[:m] = seen[:m]
    for i in range(m - 1):
        v = m + i
        left = children[i, 0]
        right = children[i, 1]
        inside[v] = 0.0
        first, last = _support(seen[v], _RARE)
        for q in range(fractions.shape[1]):
            chance = chances[i, q]
            if chance <= _RARE:
                continue
            start_l, pace_l = _line(low, step, v, left, fractions[i, q])
            start_r, pace_r = _line(low, step, v, right, 1.0 - fractions[i, q])
            begin, end = _within(first, last, start_l, pace_l, grid - 1)
            begin, end = _within(begin, end, start_r, pace_r, grid - 1)
            for g in range(begin, end + 1):
                at_l = start_l + pace_l * g
                at_r = start_r + pace_r * g
                j = min(max(int(at_l), 0), grid - 2)
                k = min(max(int(at_r), 0), grid - 2)
                a = inside[left, j] + (at_l - j) * (inside[left, j + 1] - inside[left, j])
                b = inside[right, k] + (at_r - k) * (inside[right, k + 1] - inside[right, k])
                inside[v, g] += chance * a * b
        top = 0.0
        for g in range(first, last + 1):
            inside[v, g] *= seen[v, g] if seen[v, g] > _RARE else 0.0
            top = max(top, inside[v, g])
        if top > 0.0:
            inside[v] /= top
            evidence += np.log(top)
        else:  # what was counted below contradicts this node: it starts anew
            inside[v] = seen[v]
    return evidence


@njit(cache=True, nogil=True)
def downward(
    children: NDArray,
    low: NDArray,
    step: NDArray,
    fractions: NDArray,
    chances: NDArray,
    seen: NDArray,
    inside: NDArray,
    outside: NDArray,
    posterior: NDArray,
) -> None:
    """Messages from the root down (`outside`), and the posterior of every split's share
    (`posterior`). The root's row of `outside` is given: the prior of the total.
    """
    m = len(children) + 1
    grid = inside.shape[1]
    mass = np.empty(grid)
    for i in range(m - 2, -1, -1):
        v = m + i
        left = children[i, 0]
        right = children[i, 1]
        outside[left] = 0.0
        outside[right] = 0.0
        posterior[i] = 0.0
        for g in range(grid):
            mass[g] = outside[v, g] * seen[v, g]
        first, last = _support(mass, _NEGLIGIBLE)
        for q in range(fractions.shape[1]):
            chance = chances[i, q]
            if chance <= _RARE:
                continue
            start_l, pace_l = _line(low, step, v, left, fractions[i, q])
            start_r, pace_r = _line(low, step, v, right, 1.0 - fractions[i, q])
            begin, end = _within(first, last, start_l, pace_l, grid - 1)
            begin, end = _within(begin, end, start_r, pace_r, grid - 1)
            found = 0.0
            for g in range(begin, end + 1):
                at_l = start_l + pace_l * g
                at_r = start_r + pace_r * g
                j = min(max(int(at_l), 0), grid - 2)
                k = min(max(int(at_r), 0), grid - 2)
                f = at_l - j
                h = at_r - k
                a = inside[left, j] + f * (inside[left, j + 1] - inside[left, j])
                b = inside[right, k] + h * (inside[right, k + 1] - inside[right, k])
                from_right = mass[g] * chance * b
                from_left = mass[g] * chance * a
                outside[left, j] += from_right * (1.0 - f)
                outside[left, j + 1] += from_right * f
                outside[right, k] += from_left * (1.0 - h)
                outside[right, k + 1] += from_left * h
                found += from_right * a
            posterior[i, q] = found
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


@njit(cache=True, nogil=True)
def sampled(
    children: NDArray,
    low: NDArray,
    step: NDArray,
    fractions: NDArray,
    chances: NDArray,
    inside: NDArray,
    total: NDArray,
    coins: NDArray,
    drawn: NDArray,
) -> None:
    """Draw the counts of all nodes from the root down, given everything that was counted: fills
    `drawn` (n_draws, 2m - 1). `total` and `coins` are public draws.
    """
    m = len(children) + 1
    n_shares = fractions.shape[1]
    chance = np.empty(n_shares)
    for d in range(len(drawn)):
        drawn[d, 2 * m - 2] = total[d]
        for i in range(m - 2, -1, -1):
            left = children[i, 0]
            right = children[i, 1]
            x = drawn[d, m + i]
            whole = 0.0
            for q in range(n_shares):
                chance[q] = 0.0
                if chances[i, q] > _RARE:
                    f = fractions[i, q]
                    a = _read(inside[left], low[left], step[left], f * x)
                    if a > 0.0:
                        b = _read(inside[right], low[right], step[right], (1.0 - f) * x)
                        chance[q] = chances[i, q] * a * b
                whole += chance[q]
            at = coins[d, i] * (whole if whole > 0.0 else 1.0)
            share = 0.5
            for q in range(n_shares):
                at -= chance[q] if whole > 0.0 else chances[i, q]
                if at < 0.0:
                    share = fractions[i, q]
                    break
            drawn[d, left] = share * x
            drawn[d, right] = (1.0 - share) * x


@njit(cache=True, nogil=True)
def consistent(children: NDArray, value: NDArray, precision: NDArray) -> tuple[NDArray, NDArray]:
    """Least-squares counts of all nodes of which children add up to their parents, in O(m) (Hay,
    Rastogi, Miklau & Suciu, VLDB 2010, Section 4, for any variances). `precision` is 0 where
    nothing was counted.
    """
    m = len(children) + 1
    mean = value.copy()
    variance = np.empty(len(value))
    for v in range(m):
        variance[v] = 1.0 / precision[v]
    for i in range(m - 1):  # up: a node's own observation and its children's, by precision
        v = m + i
        left = children[i, 0]
        right = children[i, 1]
        below = 1.0 / (variance[left] + variance[right])
        variance[v] = 1.0 / (below + precision[v])
        mean[v] = variance[v] * (below * (mean[left] + mean[right]) + precision[v] * value[v])
    for i in range(m - 2, -1, -1):  # down: children share what their sum misses, by variance
        v = m + i
        left = children[i, 0]
        right = children[i, 1]
        off = mean[v] - mean[left] - mean[right]
        both = variance[left] + variance[right]
        for child in (left, right):
            part = variance[child] / both
            mean[child] += part * off
            other = both - variance[child]
            variance[child] = part * other + part * part * variance[v]
    return mean, variance
