"""Exact sum-product message passing for counts on a binary tree, on grids of values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

_NEGLIGIBLE = 1e-12
"""Probability of a value below which it is left out of the downward pass."""
_RARE = 1e-10
"""Likelihood, or prior probability of a share, below which it is left out of both."""
_IMPOSSIBLE = -700.0
"""Evidence of counts that contradict each other: logarithm of the least float."""


class Splits(NamedTuple):
    """The m - 1 splits of a tree of m leaves, and the grids of its nodes: node v's is
    ``low[v] + step[v] · arange(G)``.

    `children` (m - 1, 2); `fractions` (m - 1, S): shares of the left child; `kinds` (C, m - 1, S):
    their probabilities under each kind of split; `band` (m - 1,): whose frequencies a split has.
    """

    children: NDArray
    low: NDArray
    step: NDArray
    fractions: NDArray
    kinds: NDArray
    band: NDArray


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _read(message: NDArray, low: float, step: float, x: float) -> float:
    """Linear interpolation of a message at x; nothing outside its grid."""
    at = (x - low) / step
    if at < -1e-9 or at > len(message) - 1 + 1e-9:
        return 0.0
    i = min(max(int(at), 0), len(message) - 2)
    f = at - i
    return message[i] * (1.0 - f) + message[i + 1] * f


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
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


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _support(message: NDArray, least: float) -> tuple[int, int]:
    """First and last index of more than `least`."""
    first = 0
    last = len(message) - 1
    while first <= last and message[first] <= least:
        first += 1
    while last > first and message[last] <= least:
        last -= 1
    return first, last


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _message(values: NDArray, row: NDArray) -> None:
    """A message, and how much each next value differs: fills `row` (G, 2)."""
    top = len(values) - 1
    for g in range(top):
        row[g, 0] = values[g]
        row[g, 1] = values[g + 1] - values[g]
    row[top, 0] = values[top]
    row[top, 1] = 0.0


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _lines(
    splits: Splits, i: int, q: int, support: tuple[int, int], top: int
) -> tuple[int, int, float, float, float, float]:
    """Between which of the values of split i's node both children's counts lie on their grids if
    the left one has the q-th share; starts and paces: of the g-th value at start + pace · g.
    """
    v = len(splits.children) + 1 + i
    left = splits.children[i, 0]
    right = splits.children[i, 1]
    share = splits.fractions[i, q]
    rest = 1.0 - share
    start_l = (share * splits.low[v] - splits.low[left]) / splits.step[left]
    start_r = (rest * splits.low[v] - splits.low[right]) / splits.step[right]
    pace_l = share * splits.step[v] / splits.step[left]
    pace_r = rest * splits.step[v] / splits.step[right]
    begin, end = _within(support[0], support[1], start_l, pace_l, top)
    begin, end = _within(begin, end, start_r, pace_r, top)
    return begin, end, start_l, pace_l, start_r, pace_r


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _at(row: NDArray, place: float) -> tuple[np.uint64, float, float]:
    """The grid's value below a place, how far beyond it that is, and the message there."""
    i = np.uint64(int(place))
    f = place - i
    return i, f, row[i, 0] + f * row[i, 1]


@njit(cache=True, nogil=True, error_model="numpy")
def upward(splits: Splits, chances: NDArray, seen: NDArray, inside: NDArray) -> float:
    """Likelihood of all noisy counts at and below a node given its true count: fills `inside` (2m -
    1, G).

    `chances` (m - 1, S): probabilities of all shares; `seen`: likelihood of the node's own counts.
    """
    m = len(splits.children) + 1
    evidence = 0.0
    grid = inside.shape[1]
    left = np.empty((grid, 2))
    right = np.empty((grid, 2))
    row = np.empty(grid)
    inside[:m] = seen[:m]
    for i in range(m - 1):
        own = seen[m + i]
        row[:] = 0.0
        first, last = _support(own, _RARE)
        _message(inside[splits.children[i, 0]], left)
        _message(inside[splits.children[i, 1]], right)
        for q in range(chances.shape[1]):
            chance = chances[i, q]
            if chance <= _RARE:
                continue
            begin, end, x, dx, y, dy = _lines(splits, i, q, (first, last), grid - 1)
            for g in range(begin, end + 1):
                row[g] += chance * _at(left, x + dx * g)[2] * _at(right, y + dy * g)[2]
        top = 0.0
        for g in range(first, last + 1):
            row[g] *= own[g] if own[g] > _RARE else 0.0
            top = max(top, row[g])
        if top > 0.0:
            inside[m + i] = row / top
            evidence += np.log(top)
        else:  # what was counted below contradicts this node: it starts anew
            inside[m + i] = own
            evidence += _IMPOSSIBLE
    return evidence


@njit(cache=True, nogil=True, error_model="numpy")
def downward(
    splits: Splits,
    frequency: NDArray,
    chances: NDArray,
    seen: NDArray,
    inside: NDArray,
    outside: NDArray,
    to_leaves: bool,
) -> NDArray:
    """Messages from the root down to all nodes (`outside`), as `upward`, but to leaves only where
    that is asked for; returns how many splits of each band and kind there are in expectation
    (n_bands, C), of their `frequency`. The root's row of `outside` is given: the prior of the
    total.
    """
    m = len(splits.children) + 1
    grid = inside.shape[1]
    counts = np.zeros_like(frequency)
    weight = np.empty(frequency.shape[1])
    left = np.empty((grid, 2))
    right = np.empty((grid, 2))
    above = np.empty((2, grid + 1))
    for i in range(m - 2, -1, -1):
        density = outside[m + i] * seen[m + i]
        weight[:] = 0.0
        support = _support(density, _NEGLIGIBLE)
        pair = splits.children[i]
        inner = pair[0] >= m or to_leaves, pair[1] >= m or to_leaves
        _message(inside[pair[0]], left)
        _message(inside[pair[1]], right)
        above[:] = 0.0
        for q in range(chances.shape[1]):
            chance = chances[i, q]
            if chance <= _RARE:
                continue
            begin, end, x, dx, y, dy = _lines(splits, i, q, support, grid - 1)
            likely = 0.0
            for g in range(begin, end + 1):
                j, f, a = _at(left, x + dx * g)
                k, h, b = _at(right, y + dy * g)
                likely += density[g] * a * b
                if inner[0]:
                    from_right = density[g] * chance * b
                    above[0, j] += from_right * (1.0 - f)
                    above[0, j + np.uint64(1)] += from_right * f
                if inner[1]:
                    from_left = density[g] * chance * a
                    above[1, k] += from_left * (1.0 - h)
                    above[1, k + np.uint64(1)] += from_left * h
            for c in range(len(weight)):
                weight[c] += likely * splits.kinds[c, i, q]
        for side in range(2):
            total = above[side].sum()
            outside[pair[side]] = 1.0 / grid
            if total > 0.0:
                outside[pair[side]] = above[side, :grid] / total
        own = frequency[splits.band[i]]
        weight *= own
        total = weight.sum()
        counts[splits.band[i]] += weight / total if total > 0.0 else own
    return counts


@njit(cache=True, nogil=True, error_model="numpy")
def sampled(
    splits: Splits,
    chances: NDArray,
    inside: NDArray,
    total: NDArray,
    coins: NDArray,
    drawn: NDArray,
) -> None:
    """Draw the counts of all nodes from the root down, given everything that was counted: fills
    `drawn` (n_draws, 2m - 1). `total` and `coins` are public draws.
    """
    children, low, step, fractions = splits.children, splits.low, splits.step, splits.fractions
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


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True)
def passed_down(value: NDArray, own: NDArray, children: NDArray) -> NDArray:
    """Values of all nodes, children first; each is its parent's but for `own` parents."""
    found = value.copy()
    m = len(children) + 1
    for i in range(m - 2, -1, -1):
        if not own[m + i]:
            found[children[i, 0]] = found[m + i]
            found[children[i, 1]] = found[m + i]
    return found


@njit(cache=True, nogil=True)
def summed_up(parts: NDArray, children: NDArray) -> NDArray:
    """Sums of parts below every node, children first, shape (2m - 1,)."""
    m = len(parts)
    sums = np.zeros(2 * m - 1)
    sums[:m] = parts
    for i in range(m - 1):
        sums[m + i] = sums[children[i, 0]] + sums[children[i, 1]]
    return sums
