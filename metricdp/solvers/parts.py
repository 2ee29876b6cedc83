"""Exact k-median by independent parts that share only the number of centers.

Parts are the connected components of the pairs left (`metricdp.solvers.dual_ascent.Ascent`,
``narrow``). With ``F[c, q]`` the least cost of part c with q centers, a better solution costs at
least the minimum of the sum of ``F[c, q[c]]`` over all allocations of k. Lower bounds replace F,
and only those that the cheapest allocation uses are made exact. Integer bounds are rounded up.

One program with a price t for every open row bounds all q: if no choice costs less than V, ``F[c,
q] >= V - t * q``. Where F is not convex, a single q needs a program or branches of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from metricdp.arguments import Ints
from metricdp.kernels.dual_ascent import cheapest
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.entries import Entries
from metricdp.solvers.level_programs import TRUST, Found
from metricdp.solvers.part import Part, Prove
from metricdp.solvers.shares import allocate, budgets

_SECONDS = 5.0
_SHARE = 0.05
"""Least seconds of a first attempt, and as a share of the time left; doubled each time."""
_ALL_SHARE = 0.8
"""Share of the time left for programs that bound all numbers of centers."""
_WHOLE_PRICE = 0.05
"""With integer costs, a price so near to an integer is rounded."""


def cheapest_of_parts(ascent: Ascent, prove: Prove, known_rows: Ints | None = None) -> Found:
    """The best rows within the target of a narrowed ascent, if any, and a lower bound."""
    components = _components(ascent)
    k = ascent.k - int(np.count_nonzero(ascent.required))
    if components is None or k < 0:
        return None, np.inf
    if known_rows is not None:
        for component in components:
            component.part.keep(np.flatnonzero(np.isin(ascent.rows[component.rows], known_rows)))
    price = _price(ascent)
    alone = sum(component.part.size > 0 for component in components) == 1
    for component in components:
        component.part.all_improved = alone
        component.part.tries += alone
    while True:
        seconds = np.inf if alone else max(_SECONDS, _SHARE * ascent.deadline.left)
        lower = [component.part.lower for component in components]
        value, shares = allocate(lower, k)
        if value > ascent.target:
            return None, np.inf
        rows, cost = _best_combination(components, ascent, k)
        inexact = [
            i for i, component in enumerate(components) if not component.part.exact[shares[i]]
        ]
        if not inexact or ascent.deadline.over or cost <= value * (1 + 2 * TRUST):
            return rows, value
        # Improve the bound of the part and number that the cheapest allocation relies on.
        i = min(inexact, key=lambda i: components[i].part.priority(shares[i]))
        part, q = components[i].part, shares[i]
        budget = budgets(lower, i, k, ascent.target)
        if part.tries[q] and not part.all_improved:
            candidates = [components[j].part for j in inexact]
            share = (
                _ALL_SHARE * part.size / sum(one.size for one in candidates if not one.all_improved)
            )
            part.improve_all(
                price, budget, ascent.deadline, max(share * ascent.deadline.left, seconds)
            )
        else:
            part.improve(q, float(budget[q]), prove, ascent.deadline, seconds)


def _price(ascent: Ascent) -> float:
    """What one center more or less is worth, by the multipliers."""
    forced = int(np.count_nonzero(ascent.required))
    worth = -np.sort(ascent.reduced(ascent.best)[~ascent.required])
    if len(worth) == 0:
        return 0.0
    near = worth[[max(ascent.k - forced - 1, 0), min(ascent.k - forced, len(worth) - 1)]]
    rounded = np.rint(near.mean())
    close = near[1] - _WHOLE_PRICE <= rounded <= near[0] + _WHOLE_PRICE
    return float(rounded if ascent.integral and close else near.mean())


class Component(NamedTuple):
    """A part, and the rows of the ascent that its rows are."""

    part: Part
    rows: Ints


def _components(ascent: Ascent) -> list[Component] | None:
    """The independent parts; None if a demand point cannot be served."""
    beyond = ascent.beyond.copy()
    cheapest(*ascent.entries, np.flatnonzero(ascent.required), beyond)
    free = np.flatnonzero(~ascent.required)
    entries = ascent.entries.among(free, beyond, np.zeros(len(free)))
    m, n = len(free), len(beyond)
    row = entries.row
    joined = csr_array((np.ones(len(row), np.int8), (row, m + entries.client)), (m + n, m + n))
    count, label = connected_components(joined, directed=False)
    alone = np.bincount(label, minlength=count) == 1
    if np.isinf(beyond[alone[label[m:]]]).any():
        return None
    label = np.where(alone[label], count, label)  # all that is joined to nothing is one part
    number = np.empty(n, np.int32)
    components: list[Component] = []
    for one in np.unique(label):
        rows = np.flatnonzero(label[:m] == one)
        clients = np.flatnonzero(label[m:] == one)
        number[clients] = np.arange(len(clients))
        own = entries.among(rows)
        own = Entries(own.start, number[own.client], own.cost)
        part = Part(len(rows), own, beyond[clients], ascent.best[clients], ascent.integral)
        components.append(Component(part, free[rows]))
    return components


def _best_combination(
    components: list[Component], ascent: Ascent, k: int
) -> tuple[Ints | None, float]:
    """Rows of the cheapest allocation among solutions found, and its cost, within the target."""
    within = ascent.target * (1 + 2 * TRUST)
    value, shares = allocate([component.part.best for component in components], k)
    if value > within:
        return None, np.inf
    chosen = [
        component.rows[component.part.best_rows[q]] for component, q in zip(components, shares)
    ]
    return ascent.rows[np.concatenate([np.flatnonzero(ascent.required), *chosen])], value
