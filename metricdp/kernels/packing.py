"""What one site earns: knapsacks that are filled with shares of clients or with whole ones."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_NODES = 5_000
"""Of one knapsack's search tree; where it is larger, shared clients bound what can be earned."""


@njit(cache=True, nogil=True)
def _sorted(
    row: NDArray, price: NDArray, loads: NDArray, room: float, most_lost: float
) -> tuple[NDArray, NDArray, NDArray]:
    """Clients who fit and do not cost more than `most_lost`, gains and loads; best ratio first."""
    count = 0
    items = np.empty(len(row), np.int64)
    for j in range(len(row)):
        if price[j] - row[j] > -most_lost and loads[j] <= room:
            items[count] = j
            count += 1
    items = items[:count]
    gain = price[items] - row[items]
    order = np.argsort(-gain / np.maximum(loads[items], 1e-300))
    return items[order], gain[order], loads[items][order]


@njit(cache=True, nogil=True)
def _shared(gain: NDArray, load: NDArray, t: int, left: float) -> float:
    """What the items from t on can add at most, the last of them in part."""
    total = 0.0
    while t < len(gain) and gain[t] > 0.0:
        if load[t] > left:
            return total + gain[t] * left / load[t]
        left -= load[t]
        total += gain[t]
        t += 1
    return total


@njit(cache=True, nogil=True)
def _pack(
    row: NDArray, price: NDArray, loads: NDArray, room: float, served: NDArray, add: float
) -> float:
    """The most one site earns from whole clients (branch and bound: Horowitz & Sahni, 1974), or a
    little more where that takes long; `add` is added to `served` of those it serves.
    """
    items, gain, load = _sorted(row, price, loads, room, 0.0)
    n = len(items)
    first = _shared(gain, load, 0, room)
    chosen, kept = np.empty(n, np.int64), np.empty(n, np.int64)
    depth, size, best, now, left, t = 0, 0, 0.0, 0.0, room, 0
    least = 1e-12 * first
    proven = False
    for _ in range(_NODES):
        if t < n and now + _shared(gain, load, t, left) > best + least:
            while t < n and load[t] <= left:
                chosen[depth] = t
                depth += 1
                now += gain[t]
                left -= load[t]
                t += 1
            t += 1
            if now > best:
                best, size = now, depth
                kept[:depth] = chosen[:depth]
            continue
        if depth == 0:
            proven = True
            break
        depth -= 1
        t = chosen[depth]
        now -= gain[t]
        left += load[t]
        t += 1
    for i in kept[:size]:
        served[items[i]] += add
    return best + least if proven else first


@njit(cache=True, nogil=True)
def _shares(
    row: NDArray,
    prices: NDArray,
    loads: NDArray,
    room: float,
    least: float,
    served: NDArray,
    add: float,
) -> float:
    """What one site earns that serves `least` load at least, and ``add`` times the shares it serves
    added to `served`.
    """
    n = len(row)
    items, count, need, total = np.empty(n, np.int64), 0, 0.0, 0.0
    for j in range(n):
        if prices[j] > row[j]:
            items[count] = j
            count += 1
            need += loads[j]
            total += prices[j] - row[j]
    if least <= need <= room:
        for t in range(count):
            served[items[t]] += add
        return total
    if need < least:
        count = n
        items[:] = np.arange(n)
    ratio = np.empty(count)
    for t in range(count):
        j = items[t]
        ratio[t] = (row[j] - prices[j]) / max(loads[j], 1e-300)
    used, total = 0.0, 0.0
    for t in np.argsort(ratio):
        j = items[t]
        most = (room if ratio[t] < 0.0 else least) - used
        share = 1.0 if loads[j] <= most else max(most, 0.0) / max(loads[j], 1e-300)
        if ratio[t] >= 0.0 and loads[j] <= 0.0:
            continue
        total += share * (prices[j] - row[j])
        served[j] += add * share
        used += share * loads[j]
        if share < 1.0:
            break
    return total


@njit(cache=True, nogil=True)
def knapsack(
    row: NDArray,
    prices: NDArray,
    loads: NDArray,
    room: float,
    least: float,
    whole: bool,
    served: NDArray,
    add: float,
) -> float:
    """The most that one site earns from clients who pay ``prices``, of `whole` ones (then `least`
    is not heeded) or of shares; ``add`` times what it serves is added to `served`.
    """
    if whole:
        return _pack(row, prices, loads, room, served, add)
    return _shares(row, prices, loads, room, least, served, add)


@njit(cache=True, nogil=True)
def knapsacks(
    costs: NDArray,
    prices: NDArray,
    loads: NDArray,
    room: NDArray,
    least: float,
    whole: bool,
    rows: NDArray,
    worth: NDArray,
) -> None:
    """Fill the most that each of some sites earns."""
    served = np.zeros(costs.shape[1])
    for i in rows:
        worth[i] = knapsack(costs[i], prices, loads, room[i], least, whole, served, 0.0)


@njit(cache=True, nogil=True)
def all_packs(
    costs: NDArray,
    price: NDArray,
    loads: NDArray,
    room: NDArray,
    least: NDArray,
    lost: float,
    starts: NDArray,
    members: NDArray,
    site: NDArray,
    cost: NDArray,
) -> int:
    """All sets of clients, at least one, that earn a site at least so much; how many, or -1 if they
    are too many for `starts` (n_sets + 1,), `members`, `site` and `cost` (n_sets,).
    """
    found, end = 0, 0
    starts[0] = 0
    for i in range(len(costs)):
        items, gain, load = _sorted(costs[i], price, loads, room[i], lost)
        chosen = np.empty(len(items), np.int64)
        depth, now, left, t, steps = 0, 0.0, room[i], 0, 0
        floor = least[i] - 1e-12 * abs(least[i])
        while True:
            steps += 1
            if t < len(items) and now + max(_shared(gain, load, t, left), gain[t]) >= floor:
                if load[t] <= left:
                    chosen[depth] = t
                    depth += 1
                    now += gain[t]
                    left -= load[t]
                    if now >= floor:
                        if found >= len(site) or end + depth > len(members):
                            return -1
                        cost[found] = 0.0
                        for d in range(depth):
                            members[end + d] = items[chosen[d]]
                            cost[found] += costs[i, items[chosen[d]]]
                        end += depth
                        site[found] = i
                        found += 1
                        starts[found] = end
                t += 1
                continue
            if depth == 0:
                break
            depth -= 1
            t = chosen[depth]
            now -= gain[t]
            left += load[t]
            t += 1
            if steps > 100 * len(members):
                return -1
    return found


@njit(cache=True, nogil=True)
def left_of(
    sets: tuple,
    cost: NDArray,
    paid: NDArray,
    triples: NDArray,
    extra: NDArray,
    most: NDArray,
    rest: NDArray,
) -> None:
    """What each set of clients costs beyond what they pay; where that is less than `most`, also
    beyond what triples give, two of whom at least are in it. `sets`: starts, members; fills `rest`.
    """
    starts, members = sets
    inside = np.zeros(len(paid), np.bool_)
    for s in range(len(cost)):
        mine = members[starts[s] : starts[s + 1]]
        total = cost[s]
        for j in mine:
            total -= paid[j]
        if total < most[s]:
            inside[mine] = True
            for t in range(len(triples)):
                a, b, c = triples[t]
                if extra[t] > 0.0 and int(inside[a]) + int(inside[b]) + int(inside[c]) >= 2:
                    total += extra[t]
            inside[mine] = False
        rest[s] = total


@njit(cache=True, nogil=True)
def kept_sets(sets: tuple, kept: NDArray) -> tuple:
    """Starts and members of some sets."""
    starts, members = sets
    new = np.zeros(len(kept) + 1, starts.dtype)
    for i in range(len(kept)):
        new[i + 1] = new[i] + starts[kept[i] + 1] - starts[kept[i]]
    inside = np.empty(new[-1], members.dtype)
    for i in range(len(kept)):
        inside[new[i] : new[i + 1]] = members[starts[kept[i]] : starts[kept[i] + 1]]
    return new, inside
