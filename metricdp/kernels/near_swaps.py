"""Swap local search and kicks for k-median on lists of near candidates (`Near`)."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metricdp.kernels.copying import copy_into
from metricdp.kernels.mixing import uniform

NOBODY = -1
_KICK_COST = 150
_TRANSFER_SHARE = 0.25
"""List entries that a kick counts as; share of kicks that close a center elsewhere."""


class Near(NamedTuple):
    """Costs of demand points from candidates near them: `start`, `site`, `cost` by demand point, in
    ascending cost; `site_start`, `client`, `site_cost` by candidate; `far`: cost without an open
    near candidate.
    """

    start: NDArray
    site: NDArray
    cost: NDArray
    site_start: NDArray
    client: NDArray
    site_cost: NDArray
    weights: NDArray
    far: NDArray


class Labels(NamedTuple):
    """Centers, and the two nearest of every demand point (-1: none). `losses` (2 * size,): a
    tournament tree of what closing each slot adds, infinite for required slots.
    """

    centers: NDArray
    slot: NDArray
    first: NDArray
    second: NDArray
    c_first: NDArray
    c_second: NDArray
    losses: NDArray


class _Workspace(NamedTuple):
    """Savings by slot; a ring buffer of candidates to try; slots whose losses changed."""

    savings: NDArray
    touched: NDArray
    queue: NDArray
    queued: NDArray
    changed: NDArray
    stale: NDArray


def transposed(
    start: NDArray, site: NDArray, cost: NDArray, m: int
) -> tuple[NDArray, NDArray, NDArray]:
    """The lists by candidate: starts, demand points and costs."""
    by_site = csr_array((cost, site, start), shape=(len(start) - 1, m)).tocsc()
    return by_site.indptr.astype(np.int64), by_site.indices.astype(np.int32), by_site.data


@njit(cache=True, nogil=True)
def _count_near(block: NDArray, reach: NDArray) -> NDArray:
    """Number of entries of each column of a block (m, n) below `reach` (n,)."""
    count = np.zeros(block.shape[1], np.int64)
    for i in range(len(block)):
        row = block[i]
        for j in range(len(row)):
            count[j] += row[j] < reach[j]
    return count


@njit(cache=True, nogil=True)
def _fill_lists(
    block: NDArray, reach: NDArray, start: NDArray, site: NDArray, cost: NDArray
) -> None:
    """Fill the lists, each in ascending cost."""
    m, n = block.shape
    at = start[:-1].copy()
    for i in range(m):
        row = block[i]
        for j in range(n):
            if row[j] < reach[j]:
                site[at[j]] = i
                cost[at[j]] = row[j]
                at[j] += 1
    for j in range(n):
        own = slice(start[j], start[j + 1])
        order = np.argsort(cost[own], kind="mergesort")
        copy_into(site[own], site[own][order])
        copy_into(cost[own], cost[own][order])


def near_of_block(
    block: NDArray[Any], reach: NDArray[np.float64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]] | None:
    """Lists (start, site, cost) of what is below `reach` (n,); None beyond `most` entries."""
    start = np.r_[0, np.cumsum(_count_near(block, reach))]
    if start[-1] > most:
        return None
    site = np.empty(start[-1], np.int32)
    cost = np.empty(start[-1], block.dtype)
    _fill_lists(block, reach, start, site, cost)
    return start, site, cost


@njit(cache=True, nogil=True)
def _update_tree(losses: NDArray, slot: int) -> None:
    at = (len(losses) // 2 + slot) // 2
    while at > 0:
        least = min(losses[2 * at], losses[2 * at + 1])
        if losses[at] == least:
            break
        losses[at] = least
        at //= 2


@njit(cache=True, nogil=True)
def _cheapest_slot(losses: NDArray) -> int:
    """The slot of least loss."""
    size = len(losses) // 2
    at = 1
    while at < size:
        at = 2 * at if losses[2 * at] <= losses[2 * at + 1] else 2 * at + 1
    return at - size


@njit(cache=True, nogil=True)
def _label(near: Near, state: Labels, j: int) -> None:
    """Label a demand point with its two cheapest open candidates."""
    a = b = NOBODY
    da = db = near.far[j]
    for e in range(near.start[j], near.start[j + 1]):
        s = state.slot[near.site[e]]
        if s >= 0:
            if a < 0:
                a = s
                da = np.float64(near.cost[e])
            else:
                b = s
                db = np.float64(near.cost[e])
                break
    state.first[j], state.second[j] = a, b
    state.c_first[j], state.c_second[j] = da, db


@njit(cache=True, nogil=True)
def recompute_losses(near: Near, state: Labels, fixed: int) -> float:
    """Recompute all losses; returns the cost."""
    losses = state.losses
    size = len(losses) // 2
    k = len(state.centers)
    losses[:] = np.inf
    losses[size : size + k] = 0.0
    total = 0.0
    for j in range(len(near.weights)):
        w = near.weights[j]
        total += w * state.c_first[j]
        if state.first[j] >= 0:
            losses[size + state.first[j]] += w * (state.c_second[j] - state.c_first[j])
    losses[size : size + fixed] = np.inf
    for at in range(size - 1, 0, -1):
        losses[at] = min(losses[2 * at], losses[2 * at + 1])
    return total


@njit(cache=True, nogil=True)
def state_at(near: Near, centers: NDArray, fixed: int) -> tuple:
    """The labels at these centers, and the cost."""
    n = len(near.weights)
    m = len(near.site_start) - 1
    k = len(centers)
    size = 1
    while size < k:
        size *= 2
    slot = np.full(m, NOBODY, np.int32)
    for s in range(k):
        slot[centers[s]] = s
    state = Labels(
        centers.astype(np.int32),
        slot,
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n),
        np.empty(n),
        np.empty(2 * size),
    )
    for j in range(n):
        _label(near, state, j)
    return state, recompute_losses(near, state, fixed)


@njit(cache=True, nogil=True)
def workspace(m: int, k: int) -> _Workspace:
    """Work space for m candidates and k centers."""
    return _Workspace(
        np.zeros(k),
        np.empty(k, np.int32),
        np.empty(m, np.int32),
        np.zeros(m, np.bool_),
        np.empty(k, np.int32),
        np.zeros(k, np.bool_),
    )


@njit(cache=True, nogil=True)
def _best_swap(near: Near, state: Labels, work: _Workspace, row: int) -> tuple:
    """Change of cost when a candidate opens in the best slot, and that slot."""
    savings, touched = work.savings, work.touched
    size = len(state.losses) // 2
    common_change = 0.0
    count = 0
    for e in range(near.site_start[row], near.site_start[row + 1]):
        j = near.client[e]
        c = np.float64(near.site_cost[e])
        next_ = state.c_second[j]
        if c >= next_:
            continue
        w = near.weights[j]
        cheapest = state.c_first[j]
        s = state.first[j]
        if s < 0:
            common_change += w * (c - cheapest)
            continue
        if savings[s] == 0.0:
            touched[count] = s
            count += 1
        if c < cheapest:
            common_change += w * (c - cheapest)
            savings[s] += w * (next_ - cheapest)
        else:
            savings[s] += w * (next_ - c)
        if savings[s] == 0.0:
            savings[s] = 1e-300
    # Slots with savings, then the slot of least loss.
    best = state.losses[1]
    slot = -1
    negative = False
    for t in range(count):
        s = touched[t]
        value = state.losses[size + s] - savings[s]
        negative = negative or savings[s] < 0.0
        if value < best:
            best = value
            slot = s
    if negative:  # of negative weights: the slot of least loss may be one of these
        best = np.inf
        for s in range(len(state.centers)):
            value = state.losses[size + s] - savings[s]
            if value < best:
                best = value
                slot = s
    for t in range(count):
        savings[touched[t]] = 0.0
    if slot < 0:
        slot = _cheapest_slot(state.losses)
    return common_change + best, slot


@njit(cache=True, nogil=True)
def _change_loss(state: Labels, work: _Workspace, slot: int, change: float, count: int) -> int:
    """Add to the loss of a slot, and record that it changed."""
    if slot >= 0 and change != 0.0:
        state.losses[len(state.losses) // 2 + slot] += change
        if not work.stale[slot]:
            work.stale[slot] = True
            work.changed[count] = slot
            count += 1
    return count


@njit(cache=True, nogil=True)
def _enqueue(near: Near, work: _Workspace, ring: NDArray, j: int, within: float) -> None:
    """Queue all candidates that serve a demand point below the cost `within`."""
    m = len(work.queue)
    for e in range(near.start[j], near.start[j + 1]):
        if near.cost[e] >= within:
            break
        i = near.site[e]
        if not work.queued[i]:
            work.queued[i] = True
            work.queue[ring[1]] = i
            ring[1] = (ring[1] + 1) % m
            ring[2] += 1


@njit(cache=True, nogil=True)
def _swap(
    near: Near, state: Labels, work: _Workspace, ring: NDArray, slot: int, row: int, enqueue: bool
) -> float:
    """Put a candidate into a slot, `enqueue` affected candidates; returns the change of cost."""
    left = state.centers[slot]
    state.slot[left] = NOBODY
    state.slot[row] = slot
    state.centers[slot] = row
    change = 0.0
    count = 0
    for way in range(2):
        at = left if way == 0 else row
        ring[3] += near.site_start[at + 1] - near.site_start[at]
        for e in range(near.site_start[at], near.site_start[at + 1]):
            j = np.int64(near.client[e])
            f, g = state.first[j], state.second[j]
            df, dg = state.c_first[j], state.c_second[j]
            if way == 0:
                if f != slot and g != slot:
                    continue
                _label(near, state, j)
            else:
                c = np.float64(near.site_cost[e])
                if f == slot or g == slot or c >= dg:
                    continue
                if c < df:
                    state.second[j], state.c_second[j] = f, df
                    state.first[j], state.c_first[j] = slot, c
                else:
                    state.second[j], state.c_second[j] = slot, c
            w = near.weights[j]
            change += w * (state.c_first[j] - df)
            count = _change_loss(state, work, f, -w * (dg - df), count)
            more = w * (state.c_second[j] - state.c_first[j])
            count = _change_loss(state, work, state.first[j], more, count)
            if enqueue:
                _enqueue(near, work, ring, j, max(dg, state.c_second[j]))
    for t in range(count):
        work.stale[work.changed[t]] = False
        _update_tree(state.losses, work.changed[t])
    return change


@njit(cache=True, nogil=True)
def _descend(
    near: Near,
    state: Labels,
    work: _Workspace,
    ring: NDArray,
    log: NDArray,
    logged: int,
    least_gain: float,
    most: int,
) -> tuple:
    """Try queued candidates and take improving swaps at once, until the queue is empty."""
    m = len(work.queue)
    change = 0.0
    while ring[2] > 0:
        i = np.int64(work.queue[ring[0]])
        ring[0] = (ring[0] + 1) % m
        ring[2] -= 1
        work.queued[i] = False
        if state.slot[i] >= 0 or logged >= most:
            continue
        ring[3] += near.site_start[i + 1] - near.site_start[i]
        gain, slot = _best_swap(near, state, work, i)
        if gain < -least_gain:
            if logged < len(log):
                log[logged, 0], log[logged, 1] = slot, state.centers[slot]
            logged += 1
            change += _swap(near, state, work, ring, slot, i, np.bool_(True))
    return change, logged


@njit(cache=True, nogil=True)
def descended(
    near: Near, state: Labels, work: _Workspace, order: NDArray, cost: float, least_gain: float
) -> float:
    """Try all candidates in an order, then those affected by swaps. Returns the cost."""
    m = len(work.queue)
    ring = np.zeros(4, np.int64)
    log = np.empty((0, 2), np.int64)
    for i in order:
        work.queued[i] = True
        work.queue[ring[1]] = i
        ring[1] = (ring[1] + 1) % m
        ring[2] += 1
    none, most = np.int64(0), np.int64(1 << 60)
    return cost + _descend(near, state, work, ring, log, none, least_gain, most)[0]


@njit(cache=True, nogil=True)
def kick_and_descend(
    near: Near,
    state: Labels,
    work: _Workspace,
    fixed: int,
    coins: NDArray,
    effort: NDArray,
    temperature: float,
    cost: float,
    least_gain: float,
    best: NDArray,
    best_cost: float,
) -> tuple:
    """Iterated local search: exchange a few centers near a random demand point, or move one there
    from elsewhere; descend around them; keep that if it costs at most a little more, by the
    temperature.

    The first `fixed` slots stay. `effort` (3,): list entries read, and limits of it for this call
    and in all. `temperature`: mean loss that a step may make at first. `best` and `best_cost`: the
    best found.
    """
    n = len(near.weights)
    ring = np.zeros(4, np.int64)
    log = np.empty((4096, 2), np.int64)
    nearby = np.empty(32, np.int64)
    ring[3] = effort[0]
    while ring[3] < effort[1]:
        current_temperature = temperature * (1.0 - ring[3] / effort[2])
        ring[3] += _KICK_COST
        j = int(uniform(coins) * n)
        # Choose a few open centers near a random demand point, or one near another point.
        begin, end = near.start[j], near.start[j + 1]
        centers = 0
        reach = begin
        want = 2 + int(uniform(coins) * 5)
        for e in range(begin, end):
            s = state.slot[near.site[e]]
            if s >= fixed:
                nearby[centers] = s
                centers += 1
            reach = e + 1
            if centers == want:
                break
        exchanged = 1 + int(uniform(coins) * 3)
        if uniform(coins) < _TRANSFER_SHARE and reach > begin:
            elsewhere = int(uniform(coins) * n)
            for e in range(near.start[elsewhere], near.start[elsewhere + 1]):
                s = state.slot[near.site[e]]
                if s >= fixed:
                    nearby[0] = s
                    centers = 1
                    break
        # Replace them by random candidates near the point; the log can undo it.
        logged = np.int64(0)
        change = 0.0
        for _ in range(min(exchanged, centers)):
            row = np.int64(near.site[begin + int(uniform(coins) * (reach - begin))])
            if state.slot[row] >= 0:
                continue
            at = int(uniform(coins) * centers)
            slot = nearby[at]
            centers -= 1
            nearby[at] = nearby[centers]
            log[logged, 0], log[logged, 1] = slot, state.centers[slot]
            logged += 1
            change += _swap(near, state, work, ring, slot, row, np.bool_(True))
        more, logged = _descend(near, state, work, ring, log, logged, least_gain, len(log))
        change += more
        # Metropolis rule: accept a rise of random size, else undo all swaps.
        limit = least_gain
        if current_temperature > 0:
            limit -= current_temperature * np.log(1.0 - uniform(coins))
        if change <= limit:
            cost += change
            if cost < best_cost - least_gain:
                best_cost = cost
                copy_into(best, state.centers)
        else:
            for t in range(logged - 1, -1, -1):
                _swap(near, state, work, ring, log[t, 0], log[t, 1], np.bool_(False))
    effort[0] = ring[3]
    return cost, best_cost
