"""Sum-product message passing for counts on a binary tree, on grids of values."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.copying import copy_into

_NEGLIGIBLE = 1e-12
"""Values of smaller probability are skipped in the downward pass."""
_RARE = 1e-10
"""Likelihoods, or prior probabilities of a share, below this are skipped in both passes."""
_IMPOSSIBLE = -700.0
"""Log-likelihood of counts that contradict each other: the logarithm of the least float."""


class Splits(NamedTuple):
    """The m - 1 splits of a tree; the grid of node v is ``low[v] + step[v] · arange(G)``.

    `children` (m - 1, 2); `fractions` (m - 1, S): possible shares of the left child; `kinds` (C, m
    - 1, S): their probabilities under each kind of split; `band` (m - 1,): of each split.
    """

    children: NDArray
    low: NDArray
    step: NDArray
    fractions: NDArray
    kinds: NDArray
    band: NDArray


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _interpolate(message: NDArray, low: float, step: float, x: float) -> float:
    """Linear interpolation of a message at x; 0 outside its grid."""
    at = (x - low) / step
    if at < -1e-9 or at > len(message) - 1 + 1e-9:
        return 0.0
    i = min(max(int(at), 0), len(message) - 2)
    f = at - i
    return message[i] * (1.0 - f) + message[i + 1] * f


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _clip_range(first: int, last: int, start: float, slope: float, top: int) -> tuple[int, int]:
    """The range of g from first to last for which start + slope · g lies in [0, top]."""
    if slope <= 0.0:
        if start < -1e-9 or start > top + 1e-9:
            return first, first - 1
        return first, last
    most = (top + 1e-9 - start) / slope
    least = (-1e-9 - start) / slope
    if most < first or least > last:
        return first, first - 1
    return max(first, int(np.ceil(least))), min(last, int(np.floor(most)))


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _support(message: NDArray, least: float) -> tuple[int, int]:
    """First and last index with a value above `least`."""
    first = 0
    last = len(message) - 1
    while first <= last and message[first] <= least:
        first += 1
    while last > first and message[last] <= least:
        last -= 1
    return first, last


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _with_differences(values: NDArray, row: NDArray) -> None:
    """Fill `row` (G, 2) with the values of a message, and their differences to the next."""
    top = len(values) - 1
    for g in range(top):
        row[g, 0] = values[g]
        row[g, 1] = values[g + 1] - values[g]
    row[top, 0] = values[top]
    row[top, 1] = 0.0


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _grid_lines(
    splits: Splits, i: int, q: int, support: tuple[int, int], top: int
) -> tuple[int, int, float, float, float, float]:
    """If the left child of split i has the q-th share: the range of values g of the node for which
    both children's counts lie on their grids, and the lines start + slope · g of their grid
    positions.
    """
    v = len(splits.children) + 1 + i
    left = splits.children[i, 0]
    right = splits.children[i, 1]
    share = splits.fractions[i, q]
    rest = 1.0 - share
    start_l = (share * splits.low[v] - splits.low[left]) / splits.step[left]
    start_r = (rest * splits.low[v] - splits.low[right]) / splits.step[right]
    slope_l = share * splits.step[v] / splits.step[left]
    slope_r = rest * splits.step[v] / splits.step[right]
    begin, end = _clip_range(support[0], support[1], start_l, slope_l, top)
    begin, end = _clip_range(begin, end, start_r, slope_r, top)
    return begin, end, start_l, slope_l, start_r, slope_r


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _interpolated(row: NDArray, place: float) -> tuple[np.uint64, float, float]:
    """The grid index below a position, the fraction beyond it, and the message there."""
    i = np.uint64(int(place))
    f = place - i
    return i, f, row[i, 0] + f * row[i, 1]


@njit(cache=True, nogil=True, error_model="numpy")
def upward(splits: Splits, probability: NDArray, likelihood: NDArray, inside: NDArray) -> float:
    """Messages from the leaves up: likelihood of all noisy counts at and below a node given its
    true count, in `inside` (2m - 1, G). Returns the log-likelihood of all counts.

    `probability` (m - 1, S): of each share; `likelihood`: of the node's own counts.
    """
    m = len(splits.children) + 1
    evidence = 0.0
    grid = inside.shape[1]
    left = np.empty((grid, 2))
    right = np.empty((grid, 2))
    row = np.empty(grid)
    for i in range(m):
        copy_into(inside[i], likelihood[i])
    for i in range(m - 1):
        own = likelihood[m + i]
        row[:] = 0.0
        first, last = _support(own, _RARE)
        _with_differences(inside[splits.children[i, 0]], left)
        _with_differences(inside[splits.children[i, 1]], right)
        for q in range(probability.shape[1]):
            p = probability[i, q]
            if p <= _RARE:
                continue
            begin, end, x, dx, y, dy = _grid_lines(splits, i, q, (first, last), grid - 1)
            for g in range(begin, end + 1):
                row[g] += (
                    p * _interpolated(left, x + dx * g)[2] * _interpolated(right, y + dy * g)[2]
                )
        top = 0.0
        for g in range(first, last + 1):
            row[g] *= own[g] if own[g] > _RARE else 0.0
            top = max(top, row[g])
        if top > 0.0:
            for g in range(grid):
                inside[m + i, g] = row[g] / top
            evidence += np.log(top)
        else:  # counts below contradict this node: ignore them
            copy_into(inside[m + i], own)
            evidence += _IMPOSSIBLE
    return evidence


@njit(cache=True, nogil=True, error_model="numpy")
def downward(splits: Splits, frequency: NDArray, messages: tuple, to_leaves: bool) -> NDArray:
    """Messages from the root down, to leaves only if `to_leaves`. Returns the expected number of
    splits of each band and kind (n_bands, C) at these frequencies.

    `messages`: `probability`, `likelihood` and `inside` as in `upward`, and `outside`, which is
    filled but for the row of the root, the prior of the total.
    """
    probability, likelihood, inside, outside = messages
    m = len(splits.children) + 1
    grid = inside.shape[1]
    counts = np.zeros_like(frequency)
    weight = np.empty(frequency.shape[1])
    left = np.empty((grid, 2))
    right = np.empty((grid, 2))
    above = np.empty((2, grid + 1))
    for i in range(m - 2, -1, -1):
        density = outside[m + i] * likelihood[m + i]
        weight[:] = 0.0
        support = _support(density, _NEGLIGIBLE)
        pair = splits.children[i]
        inner = pair[0] >= m or to_leaves, pair[1] >= m or to_leaves
        _with_differences(inside[pair[0]], left)
        _with_differences(inside[pair[1]], right)
        above[:] = 0.0
        for q in range(probability.shape[1]):
            p = probability[i, q]
            if p <= _RARE:
                continue
            begin, end, x, dx, y, dy = _grid_lines(splits, i, q, support, grid - 1)
            joint = 0.0
            for g in range(begin, end + 1):
                j, f, a = _interpolated(left, x + dx * g)
                k, h, b = _interpolated(right, y + dy * g)
                joint += density[g] * a * b
                if inner[0]:
                    from_right = density[g] * p * b
                    above[0, j] += from_right * (1.0 - f)
                    above[0, j + np.uint64(1)] += from_right * f
                if inner[1]:
                    from_left = density[g] * p * a
                    above[1, k] += from_left * (1.0 - h)
                    above[1, k + np.uint64(1)] += from_left * h
            for c in range(len(weight)):
                weight[c] += joint * splits.kinds[c, i, q]
        # Normalize the messages; count the kinds of this split by their posterior.
        for side in range(2):
            total = above[side].sum()
            outside[pair[side]] = 1.0 / grid
            if total > 0.0:
                copy_into(outside[pair[side]], above[side, :grid] / total)
        own = frequency[splits.band[i]]
        weight *= own
        total = weight.sum()
        counted = counts[splits.band[i]]
        counted += weight / total if total > 0.0 else own
    return counts


@njit(cache=True, nogil=True, error_model="numpy")
def sampled(
    splits: Splits, messages: tuple, total: NDArray, coins: NDArray, drawn: NDArray
) -> None:
    """Fill `drawn` (n_draws, 2m - 1) with joint posterior draws of all nodes, from the root down.
    `total` and `coins`: public draws.
    """
    probability, _, inside, _ = messages
    children, low, step, fractions = splits.children, splits.low, splits.step, splits.fractions
    m = len(children) + 1
    n_shares = fractions.shape[1]
    p = np.empty(n_shares)
    for d in range(len(drawn)):
        drawn[d, 2 * m - 2] = total[d]
        for i in range(m - 2, -1, -1):
            left = children[i, 0]
            right = children[i, 1]
            x = drawn[d, m + i]
            whole = 0.0
            for q in range(n_shares):
                p[q] = 0.0
                if probability[i, q] > _RARE:
                    f = fractions[i, q]
                    a = _interpolate(inside[left], low[left], step[left], f * x)
                    if a > 0.0:
                        b = _interpolate(inside[right], low[right], step[right], (1.0 - f) * x)
                        p[q] = probability[i, q] * a * b
                whole += p[q]
            at = coins[d, i] * (whole if whole > 0.0 else 1.0)
            share = 0.5
            for q in range(n_shares):
                at -= p[q] if whole > 0.0 else probability[i, q]
                if at < 0.0:
                    share = fractions[i, q]
                    break
            drawn[d, left] = share * x
            drawn[d, right] = (1.0 - share) * x


@njit(cache=True, nogil=True, error_model="numpy")
def consistent(children: NDArray, value: NDArray, precision: NDArray) -> tuple[NDArray, NDArray]:
    """Least-squares counts of all nodes such that children add up to their parents, and variances,
    in O(m) (Hay, Rastogi, Miklau & Suciu, VLDB 2010, Section 4, for any variances). `precision` is
    0 where nothing was counted.
    """
    m = len(children) + 1
    mean = value.copy()
    variance = np.empty(len(value))
    for v in range(m):
        variance[v] = 1.0 / precision[v]
    for i in range(m - 1):  # up: average own and children's counts by precision
        v = m + i
        left = children[i, 0]
        right = children[i, 1]
        below = 1.0 / (variance[left] + variance[right])
        variance[v] = 1.0 / (below + precision[v])
        mean[v] = variance[v] * (below * (mean[left] + mean[right]) + precision[v] * value[v])
    for i in range(m - 2, -1, -1):  # down: distribute the residual by variance
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
    """Values of all nodes, children first; those below a node not `own` are their parent's."""
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
    copy_into(sums, parts)
    for i in range(m - 1):
        sums[m + i] = sums[children[i, 0]] + sums[children[i, 1]]
    return sums
