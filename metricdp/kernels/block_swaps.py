"""Swap local search (first improvement) on a block of costs (n_candidates, n_demand).

`centers` (k,) are row numbers, of which the first `fixed` stay; `labels` say which slots serve each
demand point (`Labels`); `losses` (k,): what closing each slot adds to the cost.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.copying import copy_into

_GATHER_BITS = np.uint64(0x0102040810204080)
_BYTE = np.uint64(56)
"""A word of eight bytes of 0 or 1, multiplied and shifted by these, is a byte of these bits."""
_BITS_OF = np.array(
    [sorted(range(8), key=lambda bit: not byte >> bit & 1) for byte in range(256)], np.int32
)
"""For each byte the positions of its ones, then those of its zeros."""
_BIT_COUNT = np.array([byte.bit_count() for byte in range(256)], np.uint64)


class Labels(NamedTuple):
    """The two cheapest slots of each demand point, and their costs, all (n_demand,)."""

    first: NDArray
    second: NDArray
    c_first: NDArray
    c_second: NDArray


class Workspace(NamedTuple):
    """Arrays that trying a row writes to: changes of cost by slot; for each demand point whether
    the row is cheaper than the second slot; nonzero words of eight such bytes; the demand points
    found.
    """

    change: NDArray
    nearer: NDArray
    words: NDArray
    hits: NDArray


@njit(cache=True, nogil=True)
def workspace(n: int, k: int) -> Workspace:
    """For n demand points and k slots."""
    return Workspace(
        np.empty(k, np.float64),
        np.zeros((n + 7) // 8 * 8, np.uint8),
        np.empty(n // 8 + 2, np.int32),
        np.empty(n + 9, np.int32),
    )


@njit(cache=True, nogil=True)
def block_seeds(
    block: NDArray, weights: NDArray, uniforms: NDArray, fixed: int, centers: NDArray
) -> None:
    """k-median++: each row is the cheapest one for a demand point drawn by weight × cost.

    `uniforms` (k,) in [0, 1). Fills `centers` (k,) from index `fixed` on; the rows are distinct.
    """
    m, n = block.shape
    near = np.full(n, np.inf)
    weight = np.empty(n, np.float64)
    chosen = np.zeros(m, np.bool_)
    for i in range(len(centers)):
        if i >= fixed:
            total = 0.0
            for j in range(n):
                w = max(weights[j], 0.0)
                total += w if i == 0 else w * near[j]
                weight[j] = total
            row = -1
            if total > 0:
                drawn = np.searchsorted(weight, uniforms[i] * total, side="right")
                row = int(np.argmin(block[:, min(drawn, n - 1)]))
            if row < 0 or chosen[row]:
                row = int(uniforms[i] * m)
                while chosen[row]:
                    row = (row + 1) % m
            centers[i] = row
        chosen[centers[i]] = True
        row = centers[i]
        for j in range(n):
            near[j] = min(near[j], np.float64(block[row, j]))


@njit(cache=True, nogil=True)
def label_columns(block: NDArray, centers: NDArray) -> Labels:
    """The labels at these centers; ties go to the earlier slot."""
    n = block.shape[1]
    first, second = np.empty(n, np.int32), np.empty(n, np.int32)
    c_first, c_second = np.empty(n, block.dtype), np.empty(n, block.dtype)
    start = block[centers[0]]
    for j in range(n):
        first[j], second[j], c_first[j], c_second[j] = 0, 0, start[j], start[j]
    for i in range(1, len(centers)):
        row = block[centers[i]]
        for j in range(n):
            d = row[j]
            if d < c_first[j]:
                second[j], c_second[j] = first[j], c_first[j]
                first[j] = i
                c_first[j] = d
            elif i == 1 or d < c_second[j]:
                second[j] = i
                c_second[j] = d
    return Labels(first, second, c_first, c_second)


@njit(cache=True, nogil=True)
def _relabel(block: NDArray, centers: NDArray, j: int, labels: Labels) -> None:
    first, second, c_first, c_second = labels
    a = 0
    b = 0
    da = block[centers[0], j]
    db = da
    for i in range(1, len(centers)):
        d = block[centers[i], j]
        if d < da:
            b = a
            db = da
            a = i
            da = d
        elif i == 1 or d < db:
            b = i
            db = d
    first[j] = a
    second[j] = b
    c_first[j] = da
    c_second[j] = db


@njit(cache=True, nogil=True)
def block_losses(weights: NDArray, fixed: int, labels: Labels, losses: NDArray) -> float:
    """Fill the loss of closing each slot (k,), infinite if it is fixed; return the cost."""
    first, _, c_first, c_second = labels
    cost = 0.0
    losses[:] = 0.0
    for j in range(len(weights)):
        cost += weights[j] * c_first[j]
        losses[first[j]] += weights[j] * (np.float64(c_second[j]) - np.float64(c_first[j]))
    losses[:fixed] = np.inf
    return cost


@njit(cache=True, nogil=True)
def _compare(row: NDArray, c_second: NDArray, nearer: NDArray) -> None:
    for j in range(len(row)):
        nearer[j] = row[j] < c_second[j]


@njit(cache=True, nogil=True)
def row_change(
    row: NDArray, weights: NDArray, labels: Labels, losses: NDArray, space: Workspace
) -> float:
    """Fill ``space.change``: its entry s plus the value returned is the change of cost when the row
    replaces slot s.
    """
    first, _, c_first, c_second = labels
    change, nearer, words, hits = space
    copy_into(change, losses)
    common_change = 0.0
    if len(losses) == 1:
        for j in range(len(row)):
            common_change += weights[j] * (np.float64(row[j]) - np.float64(c_first[j]))
        return common_change
    _compare(row, c_second, nearer)
    eights = nearer.view(np.uint64)
    found = 0
    for b in range(len(eights)):
        words[found] = b
        found += eights[b] != 0
    count = np.uint64(0)
    for q in range(found):
        at = 8 * words[q]
        byte = (eights[np.uint64(words[q])] * _GATHER_BITS) >> _BYTE
        for p in range(np.uint64(8)):
            hits[count + p] = at + _BITS_OF[byte, p]
        count += _BIT_COUNT[byte]
    for h in range(count):
        j = hits[h]
        d = np.float64(row[j])
        near = np.float64(c_first[j])
        common_change += weights[j] * min(d - near, 0.0)
        change[first[j]] += weights[j] * (max(d, near) - np.float64(c_second[j]))
    return common_change


@njit(cache=True, nogil=True)
def row_changes(
    rows: NDArray,
    weights: NDArray,
    labels: Labels,
    losses: NDArray,
    slots: NDArray,
    changes: NDArray,
) -> None:
    """Fill `slots` and `changes` with the slot that each row of costs best replaces, and the change
    of cost. No row serves a missing demand point cheaper than its second slot.
    """
    space = workspace(rows.shape[1], len(losses))
    for i in range(len(rows)):
        common_change = row_change(rows[i], weights, labels, losses, space)
        slots[i] = np.argmin(space.change)
        changes[i] = common_change + space.change[slots[i]]


@njit(cache=True, nogil=True)
def _swap(block: NDArray, centers: NDArray, slot: int, row: int, labels: Labels) -> None:
    """Put the row into the slot, and update the labels."""
    first, second, c_first, c_second = labels
    centers[slot] = row
    opened = block[row]
    for j in range(len(opened)):
        d = opened[j]
        if first[j] == slot or second[j] == slot:
            _relabel(block, centers, j, labels)
        elif d < c_first[j]:
            second[j], c_second[j] = first[j], c_first[j]
            first[j] = slot
            c_first[j] = d
        elif d < c_second[j]:
            second[j] = slot
            c_second[j] = d


@njit(cache=True, nogil=True)
def block_local_search(
    block: NDArray,
    weights: NDArray,
    fixed: int,
    centers: NDArray,
    order: NDArray,
    tolerance: float,
    most_swaps: int,
) -> tuple[int, float]:
    """Try rows in cyclic `order`, and take every improving swap at once, until none is left or
    `most_swaps` were taken; updates `centers`. Returns the number of swaps, and the cost.

    `weights` may be negative. `tolerance`: least relative improvement.

    A row costs O(n_demand), for all k slots together (Resende & Werneck 2007; FastPAM1, Schubert &
    Rousseeuw 2021).
    """
    m, n = block.shape
    labels = label_columns(block, centers)
    losses = np.empty(len(centers), np.float64)
    space = workspace(n, len(centers))
    opened = np.zeros(m, np.bool_)
    opened[centers] = True
    cost = block_losses(weights, fixed, labels, losses)
    at, n_rejected, swaps = 0, 0, 0
    while n_rejected < len(order) and swaps < most_swaps:
        row = order[at]
        at = (at + 1) % len(order)
        n_rejected += 1
        if opened[row]:
            continue
        common_change = row_change(block[row], weights, labels, losses, space)
        slot = np.argmin(space.change)
        if common_change + space.change[slot] >= -tolerance * abs(cost):
            continue
        left, before = centers[slot], cost
        _swap(block, centers, slot, row, labels)
        cost = block_losses(weights, fixed, labels, losses)
        if cost < before:
            opened[left], opened[row] = False, True
            n_rejected = 0
            swaps += 1
        else:  # an improvement by rounding alone, where costs differ by many digits
            _swap(block, centers, slot, left, labels)
            cost = block_losses(weights, fixed, labels, losses)
    return swaps, cost


@njit(cache=True, nogil=True)
def block_relink(
    block: NDArray, weights: NDArray, fixed: int, start: NDArray, target: NDArray, found: NDArray
) -> float:
    """Path-relinking: walk from `start` to `target` (k,), always by the cheapest swap toward it.
    `found` gets the cheapest local minimum on the way, else the middle; its cost is returned. O(d²
    n_demand / 2) for d different rows (Resende & Werneck, J. Heuristics 2004, section 4).
    """
    m = len(block)
    k = len(start)
    centers = start.copy()
    copy_into(found, start)
    inside = np.zeros(m, np.bool_)
    inside[target] = True
    in_target = inside[centers]
    inside[:] = False
    inside[centers] = True
    missing = target[~inside[target]]
    n_missing = len(missing)
    labels = label_columns(block, centers)
    losses = np.empty(k, np.float64)
    space = workspace(block.shape[1], k)
    change = space.change
    before = block_losses(weights, fixed, labels, losses)
    best = np.inf
    least = np.inf
    falling = False
    last = centers.copy()
    for step in range(n_missing):
        for s in range(k):
            if in_target[s]:
                losses[s] = np.inf
        at = 0
        slot: Any = np.int64(0)
        lowest = np.inf
        for t in range(n_missing - step):
            common_change = row_change(block[missing[t]], weights, labels, losses, space)
            cheapest = int(np.argmin(change))
            if common_change + change[cheapest] < lowest:
                at = t
                slot = cheapest
                lowest = common_change + change[cheapest]
        copy_into(last, centers)
        _swap(block, centers, slot, missing[at], labels)
        in_target[slot] = True
        missing[at] = missing[n_missing - step - 1]
        cost = block_losses(weights, fixed, labels, losses)
        if falling and cost >= before and before < least:  # a local minimum before the end
            best = before
            least = before
            copy_into(found, last)
        if step == n_missing // 2 - 1 and least == np.inf:
            best = cost
            copy_into(found, centers)
        falling = cost < before
        before = cost
    return best
