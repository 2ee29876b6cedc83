"""Proofs by parts: what is left of a problem often falls into parts that share only the number of
centers.

Candidates and demand points joined by no pair (`metricdp.solvers.dual_ascent.Ascent`, ``narrow``)
are independent. With ``F[c, q]`` the least cost of part c with q centers, a better solution costs
at least the minimum of the sum of ``F[c, q[c]]`` over all ways to share out k. Bounds replace F,
and only values that the cheapest way uses are made exact. Whole costs are rounded up part by part.

One program with a price t for every open row bounds all q: without a choice below V, ``F[c, q] >= V
- t * q``. What a single q lacks above this convex hull is left to a program or branches of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from metricdp.arrays import Ints
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
            waiting = [places[j].part for j in open_]
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
    for one in np.unique(label):
        rows = np.flatnonzero(label[:m] == one)
        clients = np.flatnonzero(label[m:] == one)
        number[clients] = np.arange(len(clients))
        own = entries.among(rows)
        own = Entries(own.start, number[own.client], own.cost)
        part = Part(len(rows), own, beyond[clients], ascent.best[clients], ascent.whole)
        places.append(Place(part, free[rows]))
    return places


def _best_known(places: list[Place], ascent: Ascent, k: int) -> tuple[Ints | None, float]:
    """Rows of the cheapest combination found, and its cost, within the target."""
    within = ascent.target * (1 + 2 * TRUST)
    value, shares = shared_out([place.part.known for place in places], k)
    if value > within:
        return None, np.inf
    chosen = [place.rows[place.part.found[q]] for place, q in zip(places, shares)]
    return ascent.rows[np.concatenate([np.flatnonzero(ascent.must), *chosen])], value
