"""Knapsacks of one site: which clients it serves for the largest gain within its capacity, where
each client pays a dual price. Fractional (clients can be split) or 0-1 (single source).
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.copying import copy_into

_NODES = 5_000
"""Nodes of one 0-1 knapsack's search tree; beyond it the fractional bound is returned."""


@njit(cache=True, nogil=True)
def _by_ratio(
    row: NDArray, prices: NDArray, loads: NDArray, capacity: float, max_loss: float
) -> tuple[NDArray, NDArray, NDArray]:
    """Clients who fit with a gain above ``-max_loss``, gains and loads, by gain per load."""
    count = 0
    items = np.empty(len(row), np.int64)
    for j in range(len(row)):
        if prices[j] - row[j] > -max_loss and loads[j] <= capacity:
            items[count] = j
            count += 1
    items = items[:count]
    gain = prices[items] - row[items]
    order = np.argsort(-gain / np.maximum(loads[items], 1e-300))
    return items[order], gain[order], loads[items][order]


@njit(cache=True, nogil=True)
def _fractional_bound(gain: NDArray, load: NDArray, t: int, left: float) -> float:
    """The most that items t, t + 1, … can add, the last of them in part (Dantzig's bound)."""
    total = 0.0
    while t < len(gain) and gain[t] > 0.0:
        if load[t] > left:
            return total + gain[t] * left / load[t]
        left -= load[t]
        total += gain[t]
        t += 1
    return total


@njit(cache=True, nogil=True)
def _knapsack01(
    row: NDArray, prices: NDArray, loads: NDArray, capacity: float, served: NDArray, add: float
) -> float:
    """The most that one site earns from whole clients, by branch and bound (Horowitz & Sahni,
    1974); beyond `_NODES` an upper bound. Adds `add` to `served` of the clients chosen.
    """
    items, gain, load = _by_ratio(row, prices, loads, capacity, 0.0)
    n = len(items)
    first = _fractional_bound(gain, load, np.int64(0), capacity)
    chosen, kept = np.empty(n, np.int64), np.empty(n, np.int64)
    depth, size, best, earned, left, t = 0, 0, 0.0, 0.0, capacity, 0
    tolerance = 1e-12 * first
    exact = False
    for _ in range(_NODES):
        if t < n and earned + _fractional_bound(gain, load, t, left) > best + tolerance:
            while t < n and load[t] <= left:
                chosen[depth] = t
                depth += 1
                earned += gain[t]
                left -= load[t]
                t += 1
            t += 1
            if earned > best:
                best, size = earned, depth
                copy_into(kept, chosen[:depth])
            continue
        # The bound fails: backtrack to the last item taken and skip it.
        if depth == 0:
            exact = True
            break
        depth -= 1
        t = chosen[depth]
        earned -= gain[t]
        left += load[t]
        t += 1
    for i in kept[:size]:
        served[items[i]] += add
    return best + tolerance if exact else first


@njit(cache=True, nogil=True)
def _fractional_knapsack(
    row: NDArray,
    prices: NDArray,
    loads: NDArray,
    capacity: float,
    min_load: float,
    served: NDArray,
    add: float,
) -> float:
    """The most that one site earns from shares of clients while it serves a load of `min_load` or
    more. Adds ``add`` times the shares to `served`.
    """
    n = len(row)
    items, count, need, total = np.empty(n, np.int64), 0, 0.0, 0.0
    for j in range(n):
        if prices[j] > row[j]:
            items[count] = j
            count += 1
            need += loads[j]
            total += prices[j] - row[j]
    if min_load <= need <= capacity:
        for t in range(count):
            served[items[t]] += add
        return total
    if need < min_load:
        count = n
        for t in range(n):
            items[t] = t
    # Capacity or least load binds: serve clients by their gain per load.
    ratio = np.empty(count)
    for t in range(count):
        j = items[t]
        ratio[t] = (row[j] - prices[j]) / max(loads[j], 1e-300)
    used, total = 0.0, 0.0
    for t in np.argsort(ratio):
        j = items[t]
        most = (capacity if ratio[t] < 0.0 else min_load) - used
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
    capacity: float,
    min_load: float,
    whole: bool,
    served: NDArray,
    add: float,
) -> float:
    """The most that one site earns from clients who pay `prices`: from `whole` ones (whatever
    `min_load` is) or from shares. Adds ``add`` times what it serves to `served`.
    """
    if whole:
        return _knapsack01(row, prices, loads, capacity, served, add)
    return _fractional_knapsack(row, prices, loads, capacity, min_load, served, add)


@njit(cache=True, nogil=True)
def knapsacks(
    costs: NDArray,
    prices: NDArray,
    loads: NDArray,
    capacity: NDArray,
    min_load: float,
    whole: bool,
    rows: NDArray,
    worth: NDArray,
) -> None:
    """Fill `worth` with the `knapsack` of each site in `rows`."""
    served = np.zeros(costs.shape[1])
    for i in rows:
        worth[i] = knapsack(costs[i], prices, loads, capacity[i], min_load, whole, served, 0.0)


@njit(cache=True, nogil=True)
def profitable_sets(
    costs: NDArray,
    prices: NDArray,
    loads: NDArray,
    capacity: NDArray,
    min_worth: NDArray,
    max_loss: float,
    starts: NDArray,
    members: NDArray,
    site: NDArray,
    cost: NDArray,
) -> int:
    """List every nonempty set of clients by which a site i earns ``min_worth[i]`` or more; no
    client in it loses more than `max_loss`.

    Fills `starts` (n_sets + 1,), `members`, `site` and `cost` (n_sets,). Returns the number of
    sets, -1 where the arrays are too short or the search too long.
    """
    found, end = 0, 0
    starts[0] = 0
    for i in range(len(costs)):
        items, gain, load = _by_ratio(costs[i], prices, loads, capacity[i], max_loss)
        chosen = np.empty(len(items), np.int64)
        depth, earned, left, t, steps = 0, 0.0, capacity[i], 0, 0
        threshold = min_worth[i] - 1e-12 * abs(min_worth[i])
        while True:
            steps += 1
            if (
                t < len(items)
                and earned + max(_fractional_bound(gain, load, t, left), gain[t]) >= threshold
            ):
                if load[t] <= left:
                    chosen[depth] = t
                    depth += 1
                    earned += gain[t]
                    left -= load[t]
                    if earned >= threshold:
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
            earned -= gain[t]
            left += load[t]
            t += 1
            if steps > 100 * len(members):
                return -1
    return found


@njit(cache=True, nogil=True)
def reduced_costs(
    sets: tuple,
    cost: NDArray,
    duals: NDArray,
    triples: NDArray,
    cut_duals: NDArray,
    ceilings: NDArray,
    reduced: NDArray,
) -> None:
    """Fill `reduced` with the reduced costs of sets of clients (`sets`: starts, members): their
    costs less the dual prices of the clients, plus those of the cuts of `triples` that hold two or
    more of them. Cuts are skipped where the sum without them reaches `ceilings`.
    """
    starts, members = sets
    # The binding cuts of each client.
    first = np.zeros(len(duals) + 1, np.int64)
    binding = np.flatnonzero(cut_duals > 0.0)
    for j in triples[binding].ravel():
        first[j + 1] += 1
    first = first.cumsum()
    cuts, end = np.empty(first[-1], np.int64), first.copy()
    for t in binding:
        for j in triples[t]:
            cuts[end[j]] = t
            end[j] += 1
    # seen[t]: 2 s + 1 where set s holds one client of cut t so far, 2 s + 2 where it holds more.
    seen = np.zeros(len(triples), np.int64)
    for s in range(len(cost)):
        mine = members[starts[s] : starts[s + 1]]
        total = cost[s]
        for j in mine:
            total -= duals[j]
        if total < ceilings[s]:
            for j in mine:
                for t in cuts[first[j] : first[j + 1]]:
                    if seen[t] == 2 * s + 1:
                        total += cut_duals[t]
                    seen[t] = 2 * s + 1 if seen[t] <= 2 * s else 2 * s + 2
        reduced[s] = total


@njit(cache=True, nogil=True)
def subsets_of(sets: tuple, kept: NDArray) -> tuple:
    """Starts and members of the sets of these numbers."""
    starts, members = sets
    new = np.zeros(len(kept) + 1, starts.dtype)
    for i in range(len(kept)):
        new[i + 1] = new[i] + starts[kept[i] + 1] - starts[kept[i]]
    inside = np.empty(new[-1], members.dtype)
    for i in range(len(kept)):
        inside[new[i] : new[i + 1]] = members[starts[kept[i]] : starts[kept[i] + 1]]
    return new, inside
