"""Single-source assignment of clients to sites of limited capacity, by local search.

Sites may be overfull on the way: each unit of load beyond a site's capacity costs a `penalty`,
which rises while there is such load. Moves are those known from generalized assignment (shifts,
swaps, ejection chains over three sites) and from medians (a site moves within its cluster, or one
closes and another opens).
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.copying import copy_into
from metricdp.kernels.mixing import uniform

_MOST_REPAIRS = 8
_DEARER, _CHEAPER = 1.2, 0.9
"""Factors of the penalty after a round that ends infeasible, and after a feasible one."""


class Sites(NamedTuple):
    """A row is a place in one size. `costs` (n, m), C order: of serving each client from each row;
    `loads` (n,): of the clients; `capacity`, `min_load`, `opening_cost` (m,); `place`, `size`
    (m,): of each row; at most one row of a place is open, and `max_open` (n_sizes,) rows of each
    size.
    """

    costs: NDArray
    loads: NDArray
    capacity: NDArray
    min_load: NDArray
    opening_cost: NDArray
    place: NDArray
    size: NDArray
    max_open: NDArray


class Assignment(NamedTuple):
    """Who is served where.

    `rows` (k,): open, one in each slot; `slot` (n_places,): of each place, -1 if it is closed;
    `opened` (n_sizes,): open rows of each size; `site` (n,): slot of each client; `used` (k,): load
    of each slot; `first` (k,), `after`, `before` (n,): linked lists of the slots' clients;
    `changed`, `centered` (k,), `seen` (n,): times of the last change of a slot, of its last move,
    and of the last look at a client; `clock` (1,): the time; `nearest` (n, 2): cheapest slots, -1
    for none; `two_costs` (n, 2): their costs.
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
    centered: NDArray
    seen: NDArray
    clock: NDArray
    nearest: NDArray
    two_costs: NDArray


@njit(cache=True, nogil=True)
def assignment(sites: Sites, rows: NDArray, site: NDArray) -> Assignment:
    """The state in which `site` says who is served where."""
    k, n = len(rows), len(site)
    made = Assignment(
        rows.copy(),
        np.full(sites.place.max() + 1, -1),
        np.zeros(len(sites.max_open), np.int64),
        np.full(n, -1),
        np.zeros(k),
        np.full(k, -1),
        np.full(n, -1),
        np.full(n, -1),
        np.ones(k, np.int64),
        np.zeros(k, np.int64),
        np.zeros(n, np.int64),
        np.ones(1, np.int64),
        np.full((n, 2), -1),
        np.full((n, 2), np.inf),
    )
    for s in range(k):
        made.slot[sites.place[rows[s]]] = s
        made.opened[sites.size[rows[s]]] += 1
    for j in range(n):
        _join(made, sites.loads, j, site[j])
        _two_nearest(sites.costs, made, j)
    return made


@njit(cache=True, nogil=True)
def _join(state: Assignment, loads: NDArray, j: int, s: int) -> None:
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
def _move(state: Assignment, loads: NDArray, j: int, t: int) -> None:
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
def _two_nearest(costs: NDArray, state: Assignment, j: int) -> None:
    near, two_costs = state.nearest, state.two_costs
    near[j, 0] = near[j, 1] = -1
    two_costs[j, 0] = two_costs[j, 1] = np.inf
    for t in range(len(state.rows)):
        cost = costs[j, state.rows[t]]
        if cost < two_costs[j, 0]:
            near[j, 1], two_costs[j, 1] = near[j, 0], two_costs[j, 0]
            near[j, 0], two_costs[j, 0] = t, cost
        elif cost < two_costs[j, 1]:
            near[j, 1], two_costs[j, 1] = t, cost


@njit(cache=True, nogil=True, inline="always")
def _violation(sites: Sites, row: int, used: float) -> float:
    """Load beyond a row's capacity, or below its least load."""
    return max(0.0, used - sites.capacity[row], sites.min_load[row] - used)


@njit(cache=True, nogil=True, inline="always")
def _reassign(
    sites: Sites, state: Assignment, penalty: float, min_gain: float, chains: bool, j: int
) -> bool:
    """Make the best move of client j to another slot, with `chains` also in place of another
    client, who goes wherever that is cheapest. Returns whether there was one.
    """
    costs, loads = sites.costs, sites.loads
    rows, used, s, load = state.rows, state.used, state.site[j], loads[j]
    here, seen = costs[j, rows[s]], state.seen[j]
    left = used[s] - load
    relief = penalty * (_violation(sites, rows[s], used[s]) - _violation(sites, rows[s], left))
    # gain of a unit where load is missing
    lacks = penalty if sites.min_load[rows[s]] > 0.0 else 0.0
    same = state.changed[s] <= seen
    near, two_costs = state.nearest, state.two_costs
    if two_costs[j, 1 if near[j, 0] == s else 0] - here - relief - lacks * load >= -min_gain:
        return False
    none: Any = np.int64(-1)
    best, to, other, goal = -min_gain, none, none, none
    for t in range(len(rows)):
        if same and state.changed[t] <= seen:
            continue
        row = rows[t]
        gain = costs[j, row] - here - relief
        if gain - lacks * load >= best or t == s:
            continue
        before = penalty * _violation(sites, row, used[t])
        change = gain + penalty * _violation(sites, row, used[t] + load) - before
        if change < best:
            best, to, other = change, t, none
        fits = used[t] + load <= sites.capacity[row] and left >= sites.min_load[rows[s]]
        if fits or not chains:
            continue
        i = state.first[t]
        while i >= 0:
            more = loads[i]
            bare = gain - costs[i, row] - before
            bare += penalty * _violation(sites, row, used[t] + load - more)
            at = two_costs[i, 1 if near[i, 0] == t else 0] - lacks * more
            if more > 0.0 and bare + at < best:
                for u in range(len(rows)):
                    change = bare + costs[i, rows[u]]
                    if change - lacks * more >= best or u == t:
                        continue
                    filled = left if u == s else used[u]
                    change += penalty * _violation(sites, rows[u], filled + more)
                    change -= penalty * _violation(sites, rows[u], filled)
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
def _size_allowed(sites: Sites, state: Assignment, s: int, row: int) -> bool:
    """Whether the limits of sizes allow this row in a slot in place of the slot's own."""
    size = sites.size[row]
    return size == sites.size[state.rows[s]] or state.opened[size] < sites.max_open[size]


@njit(cache=True, nogil=True)
def _recenter(
    sites: Sites, state: Assignment, penalty: float, min_gain: float, s: int, in_place: bool
) -> bool:
    """Move a slot to the row that serves its clients best; `in_place`: only to other sizes."""
    total = sites.opening_cost.copy()
    for r in range(len(total)):
        total[r] += penalty * _violation(sites, r, state.used[s])
    i = state.first[s]
    while i >= 0:
        for r in range(len(total)):
            total[r] += sites.costs[i, r]
        i = state.after[i]
    found: Any = np.int64(-1)
    best = total[state.rows[s]] - min_gain
    for r in range(len(total)):
        at = state.slot[sites.place[r]]
        if (
            total[r] < best
            and (at == s or (at < 0 and not in_place))
            and _size_allowed(sites, state, s, r)
        ):
            best, found = total[r], r
    if found >= 0:
        _relocate(sites, state, s, found)
    return found >= 0


@njit(cache=True, nogil=True)
def _relocate(sites: Sites, state: Assignment, s: int, row: int) -> None:
    state.slot[sites.place[state.rows[s]]] = -1
    state.opened[sites.size[state.rows[s]]] -= 1
    state.slot[sites.place[row]] = s
    state.opened[sites.size[row]] += 1
    state.rows[s] = row
    state.clock[0] += 1
    state.changed[s] = state.clock[0]
    near, two_costs = state.nearest, state.two_costs
    for j in range(len(near)):
        cost = sites.costs[j, row]
        if near[j, 0] == s or near[j, 1] == s:
            _two_nearest(sites.costs, state, j)
        elif cost < two_costs[j, 0]:
            near[j, 1], two_costs[j, 1] = near[j, 0], two_costs[j, 0]
            near[j, 0], two_costs[j, 0] = s, cost
        elif cost < two_costs[j, 1]:
            near[j, 1], two_costs[j, 1] = s, cost


@njit(cache=True, nogil=True)
def _descend(
    sites: Sites, state: Assignment, fixed: int, penalty: float, min_gain: float, chains: bool
) -> None:
    """Move clients and sites while that helps; the first `fixed` slots keep their places."""
    n, quiet, j = len(sites.loads), 0, 0
    min_gain += 1e-13 * penalty * state.used.sum()  # rounding
    begin = 0 if len(sites.max_open) > 1 else fixed
    while True:
        while quiet < n:
            quiet = 0 if _reassign(sites, state, penalty, min_gain, chains, j) else quiet + 1
            j = j + 1 if j + 1 < n else 0
        better = False
        for s in range(begin, len(state.rows)):
            if state.changed[s] > state.centered[s]:
                better |= _recenter(sites, state, penalty, min_gain, s, s < fixed)
                state.centered[s] = state.clock[0]
        if not better:
            break
        quiet = 0


@njit(cache=True, nogil=True)
def _cost_and_violation(sites: Sites, state: Assignment) -> tuple[float, float]:
    """Cost without penalties, and the sum of `_violation`."""
    cost, over = 0.0, 0.0
    for j in range(len(state.site)):
        cost += sites.costs[j, state.rows[state.site[j]]]
    for s in range(len(state.rows)):
        cost += sites.opening_cost[state.rows[s]]
        over += _violation(sites, state.rows[s], state.used[s])
    return cost, over


@njit(cache=True, nogil=True)
def _copy(source: Assignment, target: Assignment) -> None:
    copy_into(target.rows, source.rows)
    copy_into(target.slot, source.slot)
    copy_into(target.opened, source.opened)
    copy_into(target.site, source.site)
    copy_into(target.used, source.used)
    copy_into(target.first, source.first)
    copy_into(target.after, source.after)
    copy_into(target.before, source.before)
    for j in range(len(source.site)):
        copy_into(target.nearest[j], source.nearest[j])
        copy_into(target.two_costs[j], source.two_costs[j])


@njit(cache=True, nogil=True)
def _perturb(sites: Sites, state: Assignment, fixed: int, near: NDArray, coins: NDArray) -> None:
    """Close a site, often that of a random client, and open one near the client; or change a size,
    or exchange two.
    """
    k = len(state.rows)
    j = int(uniform(coins) * len(sites.loads))
    row = near[j, int(uniform(coins) * near.shape[1])]
    s = state.site[j]
    if s < fixed or uniform(coins) < 0.5:
        s = fixed + int(uniform(coins) * (k - fixed))
    t = int(uniform(coins) * k) if len(sites.max_open) > 1 else k
    if t < k and uniform(coins) < 0.5:
        _exchange(sites, state, min(s, k - 1), t)
    elif state.slot[sites.place[row]] >= 0:
        t = state.slot[sites.place[row]]
        if state.rows[t] != row and _size_allowed(sites, state, t, row):
            _relocate(sites, state, t, row)
        else:
            _move(state, sites.loads, j, t)
    elif s < k:
        if not _size_allowed(sites, state, s, row):
            row = _of_size(sites, row, sites.size[state.rows[s]])
        _relocate(sites, state, s, row)


@njit(cache=True, nogil=True)
def _of_size(sites: Sites, row: int, size: int) -> int:
    """The row of the same place in another size, the same row where there is none."""
    for r in range(len(sites.place)):
        if sites.place[r] == sites.place[row] and sites.size[r] == size:
            return r
    return row


@njit(cache=True, nogil=True)
def _exchange(sites: Sites, state: Assignment, s: int, t: int) -> None:
    a, b = state.rows[s], state.rows[t]
    into, onto = _of_size(sites, a, sites.size[b]), _of_size(sites, b, sites.size[a])
    if into != a and onto != b:
        _relocate(sites, state, s, into)
        _relocate(sites, state, t, onto)


@njit(cache=True, nogil=True)
def local_search(
    sites: Sites,
    rows: NDArray,
    site: NDArray,
    fixed: int,
    near: NDArray,
    coins: NDArray,
    penalties: NDArray,
    temperature: float,
    rounds: int,
    chains: bool,
    best_rows: NDArray,
    best_site: NDArray,
    best_cost: float,
) -> float:
    """Iterated local search: descend, then perturb and descend `rounds` times. A round is kept if
    it costs at most a little more, by `temperature` (as in simulated annealing).

    `costs` (n, m); `rows` (k,), of which the first `fixed` keep their places, and `site` (n,), the
    slot of each client, are changed; `near` (n, n_near): rows near each client; `coins`: random
    state; `penalties` (3,): of a unit of violation, which is changed, its least and its largest;
    `chains`: whether to try ejection chains.

    Fills `best_rows`, `best_site` with the cheapest feasible assignment if it costs less than
    `best_cost`. Returns its cost.
    """
    min_gain = 1e-11 * max(sites.costs.max(), 1e-300)
    state = assignment(sites, rows, site)
    current = assignment(sites, rows, site)
    cost, over = np.inf, 0.0
    for step in range(rounds + 1):
        if step > 0:
            state.seen[:] = state.centered[:] = state.clock[0]
            _perturb(sites, state, fixed, near, coins)
        penalty = penalties[0]
        _descend(sites, state, fixed, penalty, min_gain, chains)
        new, violation = _cost_and_violation(sites, state)
        penalty_after = penalties[0] * (_DEARER if violation > 0.0 else _CHEAPER)
        penalties[0] = min(max(penalty_after, penalties[1]), penalties[2])
        # Infeasible but cheap enough: raise the penalty until it is feasible.
        repairs = 0
        while violation > 0.0 and repairs < _MOST_REPAIRS and new < best_cost - min_gain:
            repairs += 1
            penalty *= 4.0
            state.centered[:] = state.clock[0]
            state.seen[:] = 0
            _descend(sites, state, fixed, penalty, min_gain, chains)
            new, violation = _cost_and_violation(sites, state)
        if violation <= 0.0 and new < best_cost - min_gain:
            best_cost = new
            copy_into(best_rows, state.rows)
            copy_into(best_site, state.site)
        tolerated = -temperature * np.log(1.0 - uniform(coins))
        if new + penalties[0] * violation <= cost + penalties[0] * over + tolerated:
            cost, over = new, violation
            _copy(state, current)
        else:
            _copy(current, state)
    copy_into(rows, current.rows)
    copy_into(site, current.site)
    return best_cost
