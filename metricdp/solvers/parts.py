"""Proofs by parts: what is left of a problem often falls into parts that share only the number of
centers.

Candidates and demand points joined by no pair (`metricdp.solvers.dual_ascent.Ascent`, ``narrow``)
are independent. With ``F[c, q]`` the least cost of part c with q centers, a better solution costs
at least the minimum of the sum of ``F[c, q[c]]`` over all ways to share out k. Bounds replace F,
and only values that the cheapest way uses are made exact. Whole costs are rounded up part by part,
and equal parts are settled once.

One program with a price t for every open row bounds all q: without a choice below V, ``F[c, q] >= V
- t * q``. What a single q lacks above this convex hull is left to a program or branches of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from metricdp.arrays import Floats, Ints
from metricdp.kernels.dual_ascent import cheapest
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.entries import Entries
from metricdp.solvers.level_programs import TRUST, Found
from metricdp.solvers.part import Part, Settle
from metricdp.solvers.shares import room, shared_out

_SECONDS = 5.0
_SHARE = 0.05
"""Least seconds of a first attempt, and share of the time left; doubled each time."""
_MOST_AT_ONCE = 0.8
"""Of the time that is left, for programs of all numbers of centers together."""
_WORTH_MATCHING = 1000
"""Smaller parts are settled as fast as they are compared."""
_WHOLE_PRICE = 0.05
"""Where costs are whole numbers, so is a price that is so near to one."""


def cheapest_of_parts(ascent: Ascent, settle: Settle, at_hand: Ints | None = None) -> Found:
    """The best rows within the target of a narrowed ascent, by the least costs of its parts."""
    places = _places(ascent)
    k = ascent.k - int(np.count_nonzero(ascent.must))
    if places is None or k < 0:
        return None, np.inf
    if at_hand is not None:
        for place in places:
            place.part.keep(np.flatnonzero(np.isin(ascent.rows[place.rows], at_hand)))
    price = _price(ascent)
    alone = sum(place.part.size > 0 for place in places) == 1
    for place in places:
        place.part.asked = alone
        place.part.tries += alone
    while True:
        seconds = np.inf if alone else max(_SECONDS, _SHARE * ascent.deadline.left)
        lower = [place.part.lower for place in places]
        value, shares = shared_out(lower, k)
        if value > ascent.target:
            return None, np.inf
        known, cost = _best_known(places, ascent, k)
        open_ = [i for i, place in enumerate(places) if not place.part.exact[shares[i]]]
        if not open_ or ascent.deadline.over or cost <= value * (1 + 2 * TRUST):
            return known, value
        i = min(open_, key=lambda i: places[i].part.turn(shares[i]))
        part, q = places[i].part, shares[i]
        most = room(lower, i, k, ascent.target)
        if part.tries[q] and not part.asked:
            waiting = {id(places[j].part): places[j].part for j in open_}.values()
            share = _MOST_AT_ONCE * part.size / sum(one.size for one in waiting if not one.asked)
            part.ask_all(price, most, ascent.deadline, max(share * ascent.deadline.left, seconds))
        else:
            part.ask(q, float(most[q]), settle, ascent.deadline, seconds)


def _price(ascent: Ascent) -> float:
    """What one center more or less is worth by the multipliers."""
    forced = int(np.count_nonzero(ascent.must))
    worth = -np.sort(ascent.reduced(ascent.best)[~ascent.must])
    if len(worth) == 0:
        return 0.0
    near = worth[[max(ascent.k - forced - 1, 0), min(ascent.k - forced, len(worth) - 1)]]
    whole = np.rint(near.mean())
    close = near[1] - _WHOLE_PRICE <= whole <= near[0] + _WHOLE_PRICE
    return float(whole if ascent.whole and close else near.mean())


class Place(NamedTuple):
    """Where a part is: the rows of the ascent that are its rows, in its order."""

    part: Part
    rows: Ints


def _places(ascent: Ascent) -> list[Place] | None:
    """The independent parts; None if a demand point cannot be served."""
    beyond = ascent.beyond.copy()
    cheapest(*ascent.entries, np.flatnonzero(ascent.must), beyond)
    free = np.flatnonzero(~ascent.must)
    entries = ascent.entries.among(free, beyond, np.zeros(len(free)))
    m, n = len(free), len(beyond)
    row = entries.row
    joined = csr_array((np.ones(len(row), np.int8), (row, m + entries.client)), (m + n, m + n))
    count, label = connected_components(joined, directed=False)
    alone = np.bincount(label, minlength=count) == 1
    if np.isinf(beyond[alone[label[m:]]]).any():
        return None
    label = np.where(alone[label], count, label)  # those that share nothing at all are one part
    number = np.empty(n, np.int32)
    places: list[Place] = []
    tables: list[tuple[int, Floats]] = []
    for one in np.unique(label):
        rows = np.flatnonzero(label[:m] == one)
        clients = np.flatnonzero(label[m:] == one)
        number[clients] = np.arange(len(clients))
        own = entries.among(rows)
        own = Entries(own.start, number[own.client], own.cost)
        part = Part(len(rows), own, beyond[clients], ascent.best[clients], ascent.whole)
        place = Place(part, free[rows])
        if part.size >= _WORTH_MATCHING and ascent.whole and ascent.costs is not None:
            table = ascent.costs.table(ascent.rows[free[rows]], clients)
            place = _as_known(place, table, places, tables)
        places.append(place)
    return places


def _as_known(
    place: Place,
    table: Floats,
    places: list[Place],
    tables: list[tuple[int, Floats]],
) -> Place:
    """The place with an equal part, if one is known; else its table is stored."""
    for i, known in tables:
        orders = matched(known, table)
        if orders is not None:
            rows, clients = orders
            places[i].part.join(place.part, rows, clients, known)
            return Place(places[i].part, place.rows[rows])
    tables.append((len(places), table))
    return place


def _best_known(places: list[Place], ascent: Ascent, k: int) -> tuple[Ints | None, float]:
    """Rows of the cheapest combination found, and its cost, within the target."""
    within = ascent.target * (1 + 2 * TRUST)
    value, shares = shared_out([place.part.known for place in places], k)
    if value > within:
        return None, np.inf
    chosen = [place.rows[place.part.found[q]] for place, q in zip(places, shares)]
    return ascent.rows[np.concatenate([np.flatnonzero(ascent.must), *chosen])], value


_ROUNDS = 8
_MOST_TRIED = 200
"""Counterparts tried in all."""

Order = tuple[Ints, Ints]


def matched(first: Floats, second: Floats) -> Order | None:
    """Rows and columns of the second table in the first's order, if found."""
    if first.shape != second.shape:
        return None
    tables = [np.ascontiguousarray(table, np.float64) + 0.0 for table in (first, second)]
    left = [_MOST_TRIED]
    return _matched(tables, [np.zeros(len(first), np.uint64)] * 2, left)


def _matched(
    tables: list[Floats], marks: list[NDArray[np.uint64]], left: list[int]
) -> Order | None:
    colors = [_colors(table, mark) for table, mark in zip(tables, marks)]
    orders = [[np.argsort(side, kind="stable") for side in both] for both in colors]
    for side in (0, 1):
        first, second = (both[side][order[side]] for both, order in zip(colors, orders))
        if not np.array_equal(first, second):
            return None
    (rows, columns), (other_rows, other_columns) = orders
    same = tables[0][np.ix_(rows, columns)] == tables[1][np.ix_(other_rows, other_columns)]
    if same.all():
        found = np.empty_like(rows), np.empty_like(columns)
        found[0][rows], found[1][columns] = other_rows, other_columns
        return found
    sorted_ = colors[0][0][rows]
    alike = np.flatnonzero(sorted_[1:] == sorted_[:-1])
    if len(alike) == 0:
        return None
    color = sorted_[alike[0]]
    single = marks[0].copy()
    single[rows[alike[0]]] = len(rows) + left[0]
    for row in np.flatnonzero(colors[1][0] == color):
        left[0] -= 1
        if left[0] < 0:
            return None
        mark = marks[1].copy()
        mark[row] = single[rows[alike[0]]]
        found_deeper = _matched(tables, [single, mark], left)
        if found_deeper is not None:
            return found_deeper
    return None


def _colors(table: Floats, mark: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Of rows and of columns: the same for those that nothing tells apart."""
    entries = _mixed(table.view(np.uint64))
    rows = _mixed(mark)
    columns = np.zeros(table.shape[1], np.uint64)
    known = 0
    for _ in range(_ROUNDS):
        columns = _mixed(columns + _mixed(entries + rows[:, None]).sum(axis=0, dtype=np.uint64))
        rows = _mixed(rows + _mixed(entries + columns[None]).sum(axis=1, dtype=np.uint64))
        told = len(np.unique(rows)) + len(np.unique(columns))
        if told == known:
            break
        known = told
    return [rows, columns]


def _mixed(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Bits well stirred (the finalizer of SplitMix64: Steele, Lea & Flood, OOPSLA 2014)."""
    x = values + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
