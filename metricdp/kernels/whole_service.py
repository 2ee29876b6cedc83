"""Single sources: every client is served by one site, whole, and no site serves more than it can.

A local search over sites and assignments, where sites may be too full on the way: a unit of load
that has no room costs a `price` that rises while there is any. Best known moves of generalized
assignment (moves, exchanges, chains of three sites), and of medians (a site moves inside its
cluster, or one closes and one opens elsewhere).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.coins import uniform

_REPAIRS = 8
_DEARER, _CHEAPER = 1.2, 0.9
"""The price of missing room after a round that ends without room for all, and with it."""


class Sites(NamedTuple):
    """Places in sizes, a row each: `room`, `least` (m,): most and least load; `fee` (m,): of
    opening; `place`, `size` (m,): one row of a place at most is open, and `most` (n_sizes,) of each
    size.
    """

    room: NDArray
    least: NDArray
    fee: NDArray
    place: NDArray
    size: NDArray
    most: NDArray


class Service(NamedTuple):
    """Who is served where: `rows` (k,) open, `slot` (n_places,) of each place, -1 if it is closed;
    `opened` (n_sizes,): open rows of each size; `site` (n,): slot of each client; `used` (k,): load
    of each slot; `first` (k,), `after`, `before` (n,): each slot's clients, linked; `changed` (k,),
    `seen` (n,): when; `clock` (1,): now; `nearest` (n, 2): cheapest slots, -1 if there is one only;
    `two` (n, 2): their costs.
    """

    rows: NDArray
    slot: NDArray
    opened: NDArray
    site: NDArray
    used: NDArray
    first: NDArray
    after: NDArray
    before: NDArray
    changed: NDArray
    seen: NDArray
    clock: NDArray
    nearest: NDArray
    two: NDArray


@njit(cache=True, nogil=True)
def service(costs: NDArray, sites: Sites, rows: NDArray, site: NDArray, loads: NDArray) -> Service:
    """Everybody where `site` says."""
    k, n = len(rows), len(site)
    made = Service(
        rows.copy(),
        np.full(sites.place.max() + 1, -1),
        np.zeros(len(sites.most), np.int64),
        np.full(n, -1),
        np.zeros(k),
        np.full(k, -1),
        np.full(n, -1),
        np.full(n, -1),
        np.ones(k, np.int64),
        np.zeros(n, np.int64),
        np.ones(1, np.int64),
        np.full((n, 2), -1),
        np.full((n, 2), np.inf),
    )
    for s in range(k):
        made.slot[sites.place[rows[s]]] = s
        made.opened[sites.size[rows[s]]] += 1
    for j in range(n):
        _join(made, loads, j, site[j])
        _two_nearest(costs, made, j)
    return made


@njit(cache=True, nogil=True)
def _join(state: Service, loads: NDArray, j: int, s: int) -> None:
    head = state.first[s]
    state.after[j], state.before[j] = head, -1
    if head >= 0:
        state.before[head] = j
    state.first[s] = j
    state.site[j] = s
    state.used[s] += loads[j]
    state.clock[0] += 1
    state.changed[s] = state.clock[0]


@njit(cache=True, nogil=True)
def _move(state: Service, loads: NDArray, j: int, t: int) -> None:
    s, a, b = state.site[j], state.after[j], state.before[j]
    if b >= 0:
        state.after[b] = a
    else:
        state.first[s] = a
    if a >= 0:
        state.before[a] = b
    state.used[s] -= loads[j]
    _join(state, loads, j, t)
    state.changed[s] = state.clock[0]


@njit(cache=True, nogil=True)
def _two_nearest(costs: NDArray, state: Service, j: int) -> None:
    near, two = state.nearest, state.two
    near[j, 0] = near[j, 1] = -1
    two[j, 0] = two[j, 1] = np.inf
    for t in range(len(state.rows)):
        cost = costs[j, state.rows[t]]
        if cost < two[j, 0]:
            near[j, 1], two[j, 1] = near[j, 0], two[j, 0]
            near[j, 0], two[j, 0] = t, cost
        elif cost < two[j, 1]:
            near[j, 1], two[j, 1] = t, cost


@njit(cache=True, nogil=True, inline="always")
def _amiss(sites: Sites, row: int, used: float) -> float:
    """Load beyond a row's room, or missing to its least load."""
    return max(0.0, used - sites.room[row], sites.least[row] - used)


@njit(cache=True, nogil=True, inline="always")
def _place(
    costs: NDArray,
    loads: NDArray,
    sites: Sites,
    state: Service,
    price: float,
    least: float,
    chains: bool,
    j: int,
) -> bool:
    """The best move of client j to a slot it likes better, with `chains` where needed in place of
    another, which goes wherever that is cheapest; whether there was one.
    """
    rows, used, s, load = state.rows, state.used, state.site[j], loads[j]
    here, seen = costs[j, rows[s]], state.seen[j]
    left = used[s] - load
    relief = price * (_amiss(sites, rows[s], used[s]) - _amiss(sites, rows[s], left))
    lacks = price if sites.least[rows[s]] > 0.0 else 0.0  # what a unit may be worth elsewhere
    same = state.changed[s] <= seen
    near, two = state.nearest, state.two
    if two[j, 1 if near[j, 0] == s else 0] - here - relief - lacks * load >= -least:
        return False
    best, to, other, goal = -least, -1, -1, -1
    for t in range(len(rows)):
        if same and state.changed[t] <= seen:
            continue
        row = rows[t]
        gain = costs[j, row] - here - relief
        if gain - lacks * load >= best or t == s:
            continue
        before = price * _amiss(sites, row, used[t])
        change = gain + price * _amiss(sites, row, used[t] + load) - before
        if change < best:
            best, to, other = change, t, -1
        fits = used[t] + load <= sites.room[row] and left >= sites.least[rows[s]]
        if fits or not chains:
            continue
        i = state.first[t]
        while i >= 0:
            more = loads[i]
            bare = gain - costs[i, row] - before
            bare += price * _amiss(sites, row, used[t] + load - more)
            at = two[i, 1 if near[i, 0] == t else 0] - lacks * more
            if more > 0.0 and bare + at < best:
                for u in range(len(rows)):
                    change = bare + costs[i, rows[u]]
                    if change - lacks * more >= best or u == t:
                        continue
                    full = left if u == s else used[u]
                    change += price * _amiss(sites, rows[u], full + more)
                    change -= price * _amiss(sites, rows[u], full)
                    if change < best:
                        best, to, other, goal = change, t, i, u
            i = state.after[i]
    state.seen[j] = state.clock[0]
    if to < 0:
        return False
    _move(state, loads, j, to)
    if other >= 0:
        _move(state, loads, other, goal)
    return True


@njit(cache=True, nogil=True)
def _free(sites: Sites, state: Service, s: int, row: int) -> bool:
    """Whether a slot's row may be exchanged for this one, by the sizes that are open."""
    size = sites.size[row]
    return size == sites.size[state.rows[s]] or state.opened[size] < sites.most[size]


@njit(cache=True, nogil=True)
def _centered(
    costs: NDArray, sites: Sites, state: Service, price: float, least: float, s: int, held: bool
) -> bool:
    """Serve a slot's clients from the row that does so best, of the same place if it is `held`."""
    used = state.used[s]
    total = price * np.maximum(np.maximum(0.0, used - sites.room), sites.least - used) + sites.fee
    i = state.first[s]
    while i >= 0:
        total += costs[i]
        i = state.after[i]
    best, found = total[state.rows[s]] - least, -1
    for r in range(len(total)):
        at = state.slot[sites.place[r]]
        if total[r] < best and (at == s or (at < 0 and not held)) and _free(sites, state, s, r):
            best, found = total[r], r
    if found >= 0:
        _open(costs, sites, state, s, found)
    return found >= 0


@njit(cache=True, nogil=True)
def _open(costs: NDArray, sites: Sites, state: Service, s: int, row: int) -> None:
    state.slot[sites.place[state.rows[s]]] = -1
    state.opened[sites.size[state.rows[s]]] -= 1
    state.slot[sites.place[row]] = s
    state.opened[sites.size[row]] += 1
    state.rows[s] = row
    state.clock[0] += 1
    state.changed[s] = state.clock[0]
    near, two = state.nearest, state.two
    for j in range(len(near)):
        cost = costs[j, row]
        if near[j, 0] == s or near[j, 1] == s:
            _two_nearest(costs, state, j)
        elif cost < two[j, 0]:
            near[j, 1], two[j, 1] = near[j, 0], two[j, 0]
            near[j, 0], two[j, 0] = s, cost
        elif cost < two[j, 1]:
            near[j, 1], two[j, 1] = s, cost


@njit(cache=True, nogil=True)
def _descend(
    costs: NDArray,
    loads: NDArray,
    sites: Sites,
    state: Service,
    fixed: int,
    price: float,
    least: float,
    chains: bool,
    centered: NDArray,
) -> None:
    """Move clients and sites while that lowers the cost; the first `fixed` slots stay in place."""
    n, quiet, j = len(loads), 0, 0
    least += 1e-13 * price * state.used.sum()  # what rounding can do
    begin = 0 if len(sites.most) > 1 else fixed
    while True:
        while quiet < n:
            quiet = 0 if _place(costs, loads, sites, state, price, least, chains, j) else quiet + 1
            j = j + 1 if j + 1 < n else 0
        better = False
        for s in range(begin, len(state.rows)):
            if state.changed[s] > centered[s]:
                better |= _centered(costs, sites, state, price, least, s, s < fixed)
                centered[s] = state.clock[0]
        if not better:
            break
        quiet = 0


@njit(cache=True, nogil=True)
def _worth(costs: NDArray, sites: Sites, state: Service) -> tuple[float, float]:
    """Cost without prices, and load that is too much or too little somewhere."""
    cost, over = 0.0, 0.0
    for j in range(len(state.site)):
        cost += costs[j, state.rows[state.site[j]]]
    for s in range(len(state.rows)):
        cost += sites.fee[state.rows[s]]
        over += _amiss(sites, state.rows[s], state.used[s])
    return cost, over


@njit(cache=True, nogil=True)
def _copy(source: Service, target: Service) -> None:
    target.rows[:], target.slot[:] = source.rows, source.slot
    target.opened[:] = source.opened
    target.site[:], target.used[:] = source.site, source.used
    target.first[:], target.after[:] = source.first, source.after
    target.before[:], target.nearest[:] = source.before, source.nearest
    target.two[:] = source.two


@njit(cache=True, nogil=True)
def _kick(
    costs: NDArray,
    sites: Sites,
    state: Service,
    loads: NDArray,
    fixed: int,
    near: NDArray,
    coins: NDArray,
) -> None:
    """Close a site, often that of a random client, and open one near the client; or let one get
    another size, or two exchange theirs.
    """
    k = len(state.rows)
    j = int(uniform(coins) * len(loads))
    row = near[j, int(uniform(coins) * near.shape[1])]
    s = state.site[j]
    if s < fixed or uniform(coins) < 0.5:
        s = fixed + int(uniform(coins) * (k - fixed))
    t = int(uniform(coins) * k) if len(sites.most) > 1 else k
    if t < k and uniform(coins) < 0.5:
        _exchange(costs, sites, state, min(s, k - 1), t)
    elif state.slot[sites.place[row]] >= 0:
        t = state.slot[sites.place[row]]
        if state.rows[t] != row and _free(sites, state, t, row):
            _open(costs, sites, state, t, row)
        else:
            _move(state, loads, j, t)
    elif s < k:
        if not _free(sites, state, s, row):
            row = _of_size(sites, row, sites.size[state.rows[s]])
        _open(costs, sites, state, s, row)


@njit(cache=True, nogil=True)
def _of_size(sites: Sites, row: int, size: int) -> int:
    """The row of the same place in another size; the same row where there is none."""
    for r in range(len(sites.place)):
        if sites.place[r] == sites.place[row] and sites.size[r] == size:
            return r
    return row


@njit(cache=True, nogil=True)
def _exchange(costs: NDArray, sites: Sites, state: Service, s: int, t: int) -> None:
    a, b = state.rows[s], state.rows[t]
    into, onto = _of_size(sites, a, sites.size[b]), _of_size(sites, b, sites.size[a])
    if into != a and onto != b:
        _open(costs, sites, state, s, into)
        _open(costs, sites, state, t, onto)


@njit(cache=True, nogil=True)
def explore(
    costs: NDArray,
    loads: NDArray,
    sites: Sites,
    rows: NDArray,
    site: NDArray,
    fixed: int,
    near: NDArray,
    coins: NDArray,
    prices: NDArray,
    heat: float,
    rounds: int,
    chains: bool,
    best_rows: NDArray,
    best_site: NDArray,
    best_cost: float,
) -> float:
    """Descend; then kick and descend so many times, and keep that if it costs no more, or little
    more. The first `fixed` of the `rows` stay in place; `chains`: one makes place for another;
    `rows` and `site` (n,), the slot of each client, are changed; `best_rows`, `best_site` get the
    cheapest service within what sites serve, if it is below `best_cost`; its cost.

    `costs` (n, m); `near` (n, few): rows near each client; `prices` (3,): of a unit of load that is
    too much or too little, changed; least; most.
    """
    least = 1e-11 * max(costs.max(), 1e-300)
    state = service(costs, sites, rows, site, loads)
    held = service(costs, sites, rows, site, loads)
    centered = np.zeros(len(rows), np.int64)
    cost, over = np.inf, 0.0
    for step in range(rounds + 1):
        if step > 0:
            state.seen[:] = centered[:] = state.clock[0]
            _kick(costs, sites, state, loads, fixed, near, coins)
        price = prices[0]
        _descend(costs, loads, sites, state, fixed, price, least, chains, centered)
        new, full = _worth(costs, sites, state)
        price_after = prices[0] * (_DEARER if full > 0.0 else _CHEAPER)
        prices[0] = min(max(price_after, prices[1]), prices[2])
        again = 0
        while full > 0.0 and again < _REPAIRS and new < best_cost - least:
            again += 1
            price *= 4.0
            centered[:] = state.clock[0]
            state.seen[:] = 0
            _descend(costs, loads, sites, state, fixed, price, least, chains, centered)
            new, full = _worth(costs, sites, state)
        if full <= 0.0 and new < best_cost - least:
            best_cost = new
            best_rows[:], best_site[:] = state.rows, state.site
        warm = -heat * np.log(1.0 - uniform(coins))
        if new + prices[0] * full <= cost + prices[0] * over + warm:
            cost, over = new, full
            _copy(state, held)
        else:
            _copy(held, state)
    rows[:], site[:] = held.rows, held.site
    return best_cost
