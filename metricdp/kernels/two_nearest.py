"""The two nearest centers of every vertex, repaired after swaps; exact gains by pruned searches.

Slots number the centers 0..k-1: a swap gives one slot another vertex. Arrays are passed in groups:

- ``graph``: ``(indptr, indices, lengths, back)``, CSR with int64 lengths; ``back`` has each arc's
  reverse length.
- ``labels``: ``(first, second, d_first, d_second)``, int32 slots and int64 distances; NOBODY and
  FAR where there is none.
- ``members``: ``(heads, after, before)``, int32 linked lists of the vertices whose first (row 0) or
  second (row 1) label a slot is.
- ``demand``: ``(weights, unit, impedance)``, see `metricdp.kernels.impedances.impedance_cost`.
- ``heap``: ``(keys, payload)``, int64 work space of at least ``4·n_arcs + k`` entries.
- ``state``, ``space``: see `State` and `Workspace`.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.elimination import AT_ONCE, Elimination, sweep
from metricdp.kernels.impedances import impedance_cost
from metricdp.kernels.shortest_paths import FAR, heap_pop, heap_push

NOBODY = np.int32(-1)


class State(NamedTuple):
    """Centers and what swaps keep up to date: the slot at each vertex or NOBODY, labels and members
    (see the module), removal losses, slots of least loss, and `dirty` slots that won or lost
    demand. `changed` and `marked` are work space.
    """

    centers: NDArray
    slot_at: NDArray
    labels: tuple
    members: tuple
    losses: NDArray
    cheap: NDArray
    dirty: NDArray
    changed: NDArray
    marked: NDArray


class Workspace(NamedTuple):
    """Arrays of one thread that evaluates candidates, clean between calls."""

    distance: NDArray
    touched: NDArray
    keys: NDArray
    payload: NDArray
    change: NDArray
    seen: NDArray
    slots: NDArray


def workspace(n: int, k: int, n_arcs: int) -> Workspace:
    """Work space for a graph of n vertices and for k centers."""
    return Workspace(
        distance=np.full(n, FAR),
        touched=np.empty(n, np.int64),
        keys=np.empty(n_arcs + 1, np.int64),
        payload=np.empty(n_arcs + 1, np.int64),
        change=np.zeros(k),
        seen=np.zeros(k, bool),
        slots=np.empty(k, np.int64),
    )


def state_of(graph: tuple, centers: NDArray, n_cheap: int, heap: tuple) -> State:
    """The state at these centers, without losses and cheapest slots."""
    n = len(graph[0]) - 1
    k = len(centers)
    state = State(
        centers=np.array(centers, np.int64),
        slot_at=np.full(n, NOBODY),
        labels=(
            np.empty(n, np.int32),
            np.empty(n, np.int32),
            np.empty(n, np.int64),
            np.empty(n, np.int64),
        ),
        members=(
            np.empty((2, k), np.int32),
            np.empty((2, n), np.int32),
            np.empty((2, n), np.int32),
        ),
        losses=np.empty(k),
        cheap=np.empty(n_cheap, np.int64),
        dirty=np.zeros(k, bool),
        changed=np.empty(n, np.int64),
        marked=np.zeros(n, bool),
    )
    state.slot_at[state.centers] = np.arange(k)
    two_nearest(graph, state.centers, state.labels, heap)
    link_members(state.labels, state.members)
    return state


@njit(cache=True, nogil=True)
def two_nearest(graph: tuple, centers: NDArray, labels: tuple, heap: tuple) -> None:
    """Fill the labels with the two nearest centers of every vertex.

    A label among the two nearest of v is so for every vertex on its shortest path to v. So a
    Dijkstra search that accepts two labels a vertex finds both: about three single searches.
    """
    first, second, d_first, d_second = labels
    keys, payload = heap
    first[:] = NOBODY
    second[:] = NOBODY
    d_first[:] = FAR
    d_second[:] = FAR
    n = len(first)
    size = np.int64(0)
    for i in range(len(centers)):
        size = heap_push(keys, payload, size, np.int64(0), i * n + centers[i])
    while size > 0:
        d, label, size = heap_pop(keys, payload, size)
        v, slot = label % n, np.int32(label // n)
        if first[v] == slot or d >= d_second[v]:
            continue
        if first[v] == NOBODY:
            first[v] = slot
            d_first[v] = d
        else:
            second[v] = slot
            d_second[v] = d
        size = _offer_label(graph, labels, heap, size, v, slot, d)


@njit(cache=True, nogil=True)
def _offer_label(
    graph: tuple, labels: tuple, heap: tuple, size: int, v: int, slot: int, d: int
) -> int:
    """Push a label that v has accepted to its neighbors."""
    indptr, indices, lengths, _ = graph
    first, _, _, d_second = labels
    for a in range(indptr[v], indptr[v + 1]):
        u = indices[a]
        if d + lengths[a] < d_second[u] and first[u] != slot:
            size = heap_push(
                heap[0], heap[1], size, d + lengths[a], np.int64(slot) * len(first) + u
            )
    return size


@njit(cache=True, nogil=True)
def link_members(labels: tuple, members: tuple) -> None:
    """Fill the lists of every slot's vertices. O(n)."""
    members[0][:] = NOBODY
    first, second, _, _ = labels
    for v in range(len(first)):
        if first[v] != NOBODY:
            _attach(members, 0, first[v], v)
        if second[v] != NOBODY:
            _attach(members, 1, second[v], v)


@njit(cache=True, nogil=True)
def _attach(members: tuple, which: int, slot: int, v: int) -> None:
    heads, after, before = members
    head = heads[which, slot]
    after[which, v] = head
    before[which, v] = NOBODY
    if head != NOBODY:
        before[which, head] = v
    heads[which, slot] = v


@njit(cache=True, nogil=True)
def _detach(members: tuple, which: int, slot: int, v: int) -> None:
    heads, after, before = members
    if before[which, v] == NOBODY:
        heads[which, slot] = after[which, v]
    else:
        after[which, before[which, v]] = after[which, v]
    if after[which, v] != NOBODY:
        before[which, after[which, v]] = before[which, v]


@njit(cache=True, nogil=True)
def move_center(
    graph: tuple, demand: tuple, heap: tuple, state: State, slot: int, vertex: int
) -> tuple[float, int]:
    """Move a slot to another vertex, which is no center, and update labels, lists and removal
    losses. Returns the rise of cost, and how many labels changed: about 4·n/k vertices are visited.
    """
    centers, slot_at, labels, members, losses, _, dirty, changed, marked = state
    first, second, d_first, d_second = labels
    n = len(first)
    size = np.int64(0)
    count = 0
    change = 0.0
    slot_at[centers[slot]] = NOBODY
    slot_at[vertex] = slot
    centers[slot] = vertex
    for which in range(2):
        v = np.int64(members[0][which, slot])
        while v != NOBODY:
            next_member = np.int64(members[1][which, v])
            change -= _add_contribution(v, -1.0, labels, demand, losses, dirty)
            marked[v] = True
            changed[count] = v
            count += 1
            _detach(members, which, slot, v)
            if which == 0:
                if second[v] != NOBODY:
                    _detach(members, 1, second[v], v)
                    _attach(members, 0, second[v], v)
                first[v], d_first[v] = second[v], d_second[v]
            second[v] = NOBODY
            d_second[v] = FAR
            v = next_member
    for j in range(count):
        size = _offer_from_neighbors(graph, labels, heap, size, changed[j])
        # A center's own label can be displaced by two others at distance 0.
        if slot_at[changed[j]] != NOBODY:
            size = heap_push(
                heap[0], heap[1], size, np.int64(0), np.int64(slot_at[changed[j]]) * n + changed[j]
            )
    size = heap_push(heap[0], heap[1], size, np.int64(0), np.int64(slot) * n + vertex)
    while size > 0:
        d, label, size = heap_pop(heap[0], heap[1], size)
        v, new = label % n, np.int32(label // n)
        if first[v] == new or d >= d_second[v]:
            continue
        if not marked[v]:
            change -= _add_contribution(v, -1.0, labels, demand, losses, dirty)
            marked[v] = True
            changed[count] = v
            count += 1
        if second[v] != NOBODY:
            _detach(members, 1, second[v], v)
        if d < d_first[v]:
            if first[v] != NOBODY:
                _detach(members, 0, first[v], v)
                _attach(members, 1, first[v], v)
            second[v], d_second[v] = first[v], d_first[v]
            first[v] = new
            d_first[v] = d
            _attach(members, 0, new, v)
        else:
            second[v] = new
            d_second[v] = d
            _attach(members, 1, new, v)
        size = _offer_label(graph, labels, heap, size, v, new, d)
    for j in range(count):
        change += _add_contribution(changed[j], 1.0, labels, demand, losses, dirty)
        marked[changed[j]] = False
    return change, count


@njit(cache=True, nogil=True)
def _offer_from_neighbors(graph: tuple, labels: tuple, heap: tuple, size: int, v: int) -> int:
    """Push the labels of its neighbors to v."""
    indptr, indices, _, back = graph
    first, second, d_first, d_second = labels
    n = len(first)
    for a in range(indptr[v], indptr[v + 1]):
        u = indices[a]
        if first[u] != NOBODY and first[u] != first[v]:
            size = heap_push(
                heap[0], heap[1], size, d_first[u] + back[a], np.int64(first[u]) * n + v
            )
        if second[u] != NOBODY and second[u] != first[v]:
            size = heap_push(
                heap[0], heap[1], size, d_second[u] + back[a], np.int64(second[u]) * n + v
            )
    return size


@njit(cache=True, nogil=True, inline="always")
def path_cost(distance: int, unit: float, impedance: Any) -> float:
    """Cost of serving one unit of demand from this grid distance, 0 for FAR (no second center)."""
    if distance == FAR:
        return 0.0
    return impedance_cost(distance * unit, impedance)


@njit(cache=True, nogil=True)
def _add_contribution(
    v: int, sign: float, labels: tuple, demand: tuple, losses: NDArray, dirty: NDArray
) -> float:
    """Add `sign` times what v contributes to the loss of its slot; returns its cost."""
    first, second, d_first, d_second = labels
    weights, unit, impedance = demand
    if weights[v] == 0.0 or first[v] == NOBODY:
        return 0.0
    near = path_cost(d_first[v], unit, impedance)
    losses[first[v]] += sign * weights[v] * (path_cost(d_second[v], unit, impedance) - near)
    dirty[first[v]] = True
    if second[v] != NOBODY:
        dirty[second[v]] = True
    return weights[v] * near


@njit(cache=True, nogil=True)
def removal_losses(labels: tuple, demand: tuple, fixed: NDArray, losses: NDArray) -> float:
    """Fill ``losses[i]``, infinite where `fixed`, and return the current cost. O(n)."""
    first, _, d_first, d_second = labels
    weights, unit, impedance = demand
    losses[:] = 0.0
    cost = 0.0
    for v in range(len(first)):
        near = path_cost(d_first[v], unit, impedance)
        cost += weights[v] * near
        losses[first[v]] += weights[v] * (path_cost(d_second[v], unit, impedance) - near)
    for i in range(len(losses)):
        if fixed[i]:
            losses[i] = np.inf
    return cost


@njit(cache=True, nogil=True)
def cheapest_slots(losses: NDArray, cheap: NDArray) -> None:
    """Fill `cheap` with the slots of the smallest losses, in ascending order. O(k) for few."""
    size = 0
    for slot in range(len(losses)):
        if size == len(cheap) and losses[slot] >= losses[cheap[size - 1]]:
            continue
        size = min(size + 1, len(cheap))
        at = size - 1
        while at > 0 and losses[cheap[at - 1]] > losses[slot]:
            cheap[at] = cheap[at - 1]
            at -= 1
        cheap[at] = slot


@njit(cache=True, nogil=True)
def _best_swap(
    graph: tuple, demand: tuple, state: State, space: Workspace, source: int
) -> tuple[int, float, int]:
    """The slot that `source` best replaces, the change of cost, and the vertices visited."""
    indptr, indices, lengths, _ = graph
    first, _, d_first, d_second = state.labels
    weights, unit, impedance = demand
    losses = state.losses
    cheap = state.cheap
    distance, touched, keys, payload, change, seen, slots = space
    shared = 0.0
    n_slots = 0
    # Dijkstra, pruned at vertices that are no closer to the source than to their second center.
    size = heap_push(keys, payload, np.int64(0), np.int64(0), source)
    distance[source] = 0
    touched[0] = source
    n_touched = 1
    while size > 0:
        d, v, size = heap_pop(keys, payload, size)
        if d > distance[v]:
            continue
        if weights[v] != 0.0 and d < d_second[v]:
            new = path_cost(d, unit, impedance)
            near = path_cost(d_first[v], unit, impedance)
            far = path_cost(d_second[v], unit, impedance)
            slot = first[v]
            if not seen[slot]:
                seen[slot] = True
                slots[n_slots] = slot
                n_slots += 1
            shared += weights[v] * min(new - near, 0.0)
            change[slot] += weights[v] * (max(new, near) - far)
        for a in range(indptr[v], indptr[v + 1]):
            u = indices[a]
            t = d + lengths[a]
            if t < distance[u] and t < d_second[u]:
                if distance[u] == FAR:
                    touched[n_touched] = u
                    n_touched += 1
                distance[u] = t
                size = heap_push(keys, payload, size, t, np.int64(u))
    # Slots that lose or keep demand: loss plus change. Of the others the cheapest loss suffices.
    for j in range(n_touched):
        distance[touched[j]] = FAR
    best = 0
    least = np.inf
    for j in range(n_slots):
        slot = slots[j]
        total = losses[slot] + change[slot]
        if total < least or (total == least and slot < best):
            best = slot
            least = total
    for slot in cheap:
        if not seen[slot]:
            if losses[slot] < least:
                best = slot
                least = losses[slot]
            break
    else:
        for slot in range(len(losses)):
            if not seen[slot] and losses[slot] < least:
                best = slot
                least = losses[slot]
    for j in range(n_slots):
        seen[slots[j]] = False
        change[slots[j]] = 0.0
    return best, shared + least, n_touched


@njit(cache=True, nogil=True)
def swap_changes(
    graph: tuple,
    space: Workspace,
    demand: tuple,
    state: State,
    candidates: NDArray,
    slots: NDArray,
    changes: NDArray,
) -> int:
    """For each candidate the slot it best replaces and the exact change of cost; returns the number
    of vertices visited.

    A candidate matters only to vertices closer to it than their second-nearest center, about 2·n/k.
    One pruned search gives the change for all k slots (Resende & Werneck, EJOR 2007; FastPAM1,
    Schubert & Rousseeuw, Inf. Syst. 2021).
    """
    entered = 0
    for index in range(len(candidates)):
        slots[index], changes[index], count = _best_swap(
            graph, demand, state, space, candidates[index]
        )
        entered += count
    return entered


@njit(cache=True, nogil=True)
def swept_changes(
    order: Elimination,
    demand: tuple,
    state: State,
    candidates: NDArray,
    slots: NDArray,
    changes: NDArray,
) -> int:
    """As `swap_changes`, by sweeps over a road network that serve eight candidates at once: faster
    where these are near to many vertices.
    """
    first, _, d_first, d_second = state.labels
    weights, unit, impedance = demand
    distance = np.empty((len(first), AT_ONCE))
    entered = 0
    for begin in range(0, len(candidates), AT_ONCE):
        count = min(AT_ONCE, len(candidates) - begin)
        sweep(order, candidates[begin : begin + count], distance)
        total = np.empty((count, len(state.losses)))
        total[:] = state.losses
        shared = np.zeros(count)
        for v in range(len(first)):
            here = distance[order.rank[v]]
            near = path_cost(d_first[v], unit, impedance)
            far = path_cost(d_second[v], unit, impedance)
            for b in range(count):
                if here[b] < d_second[v]:
                    entered += 1
                    new = path_cost(np.int64(here[b]), unit, impedance)
                    shared[b] += weights[v] * min(new - near, 0.0)
                    total[b, first[v]] += weights[v] * (max(new, near) - far)
        for b in range(count):
            slots[begin + b] = np.argmin(total[b])
            changes[begin + b] = shared[b] + total[b, slots[begin + b]]
    return entered


@njit(cache=True, nogil=True)
def take_swaps(
    graph: tuple,
    demand: tuple,
    heap: tuple,
    state: State,
    space: Workspace,
    candidates: NDArray,
    cost: float,
    tolerance: float,
) -> tuple[float, int, int]:
    """Try candidates in order and take improving swaps. Returns cost, swaps, and labels changed."""
    swaps = 0
    entered = 0
    for candidate in candidates:
        if state.slot_at[candidate] != NOBODY:
            continue
        slot, change, _ = _best_swap(graph, demand, state, space, candidate)
        if not change < -tolerance * abs(cost):
            continue
        rise, count = move_center(graph, demand, heap, state, slot, candidate)
        cost += rise
        swaps += 1
        entered += count
        cheapest_slots(state.losses, state.cheap)
    return cost, swaps, entered


@njit(cache=True, nogil=True)
def add_row(row: NDArray, slot: int, first: NDArray, near: NDArray, far: NDArray) -> None:
    """Update nearest slot and two least distances of each point for one more center, at distances
    `row`.
    """
    for v in range(len(row)):
        d = row[v]
        if d < near[v]:
            first[v], near[v], far[v] = slot, d, near[v]
        elif d < far[v]:
            far[v] = d
