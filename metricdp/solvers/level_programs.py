"""p-median by HiGHS, with a variable for each client's different costs (Elloumi, 2010)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, eye_array

from metricdp.arguments import Bools, Floats, Ints
from metricdp.solvers.entries import Entries
from metricdp.solvers.programs import Constraint, minimized, side_by_side
from metricdp.solvers.stopping import Deadline

TRUST = 1e-7
"""Relative slack of HiGHS's bounds: its arithmetic is floating-point."""
_RELATIVE_GAP = 1e-4
"""Relative slack of the cutoff where costs are no integers."""
MOST_PAIRS = 60_000
"""Larger programs are not begun."""
Found = tuple[Ints | None, float]
"""The best rows that cost at most the target, None if there are none; a lower bound of
their cost.
"""


class CheapestRows(NamedTuple):
    """Question: which rows serve all demand at least cost?

    `beyond` (n_demand,): cost of a demand point that no row serves, infinite where that is not
    allowed; `required` (n_rows,); `fewest`, `most`: how many rows may be open; `target`: dearer
    solutions are of no interest; `price`: opening cost, of every row or of each (n_rows,).
    """

    entries: Entries
    beyond: Floats
    required: Bools
    fewest: int
    most: int
    target: float
    price: float | Floats = 0.0


def answered(question: CheapestRows, deadline: Deadline) -> Found:
    """The best rows, and a lower bound; infinite if no solution is within the target."""
    levels = _levels(question.entries, question.beyond)
    if levels is None:
        return None, np.inf
    m = question.entries.rows
    size = len(levels.step)
    follows = np.flatnonzero(~levels.first)
    before = csr_array((np.ones(len(follows)), (follows, follows - 1)), (size, size))
    opens = csr_array((np.ones(len(levels.row)), (levels.level, levels.row)), (size, m))
    cost = np.r_[np.broadcast_to(question.price, m), levels.step]
    budget = _cutoff(question.target, levels.base, cost) - levels.base
    rules = [
        Constraint(
            side_by_side(opens, eye_array(size) - before), levels.first.astype(float), np.inf
        ),
        Constraint(
            side_by_side(np.ones((1, m)), size), float(question.fewest), float(question.most)
        ),
        Constraint(csr_array(cost[None]), -np.inf, budget),
    ]
    upper = np.r_[np.ones(m), np.where(levels.dead, 0.0, 1.0)]
    required = np.flatnonzero(question.required)
    found = minimized(cost, rules, m, deadline, upper=upper, at_one=required, seconds=np.inf)
    bound = levels.base + found.bound
    if found.x is None:
        return None, np.inf if found.proven else bound - TRUST * abs(bound)
    bound -= TRUST * abs(bound)
    most = question.target + TRUST * abs(question.target)
    if levels.base + found.value > most:  # between the target and the cutoff
        return None, np.inf if found.proven or bound > most else bound
    chosen = np.flatnonzero(found.x[:m] > 0.5)
    if not question.fewest <= len(chosen) <= question.most:
        return None, -np.inf
    return chosen, bound


def _cutoff(target: float, base: float, cost: Floats) -> float:
    """The limit of a program's cost: so far above the target that rounding cannot confuse the two.
    HiGHS's presolve found nothing where the best cost the target and the limit was a ten-millionth
    above it.
    """
    if base == np.rint(base) and (cost == np.rint(cost)).all():
        return float(np.floor(target + TRUST * max(abs(target), 1.0))) + 0.5
    return target + _RELATIVE_GAP * abs(target)


class _Levels(NamedTuple):
    """The different costs (levels) of each demand point, ascending, point after point.

    `first`: whether a level is the first of its point; `step`: cost of the next level above this
    one; `dead`: whether there is none; `level`, `row` (n_entries,): which row serves at which
    level; `base`: sum of the first levels.
    """

    first: Bools
    step: Floats
    dead: Bools
    level: Ints
    row: Ints
    base: float


def _levels(entries: Entries, beyond: Floats) -> _Levels | None:
    """None if some demand point cannot be served."""
    client, cost, row = entries.client, entries.cost, entries.row
    useful = cost < beyond[client]
    client, cost, row = client[useful], cost[useful], row[useful]
    order = np.lexsort((cost, client))
    client, cost, row = client[order], cost[order], row[order]
    alone = np.setdiff1d(np.arange(len(beyond)), client)
    if np.isinf(beyond[alone]).any():
        return None
    new = np.r_[True, np.diff(client) != 0]
    begins = new | np.r_[True, np.diff(cost) != 0]
    if len(cost) == 0:
        begins = new = np.empty(0, bool)
    level = np.cumsum(begins) - 1
    first = new[begins]
    costs, owner = cost[begins], client[begins]
    last = np.r_[first[1:], True][: len(first)]
    after = np.where(last, beyond[owner], np.r_[costs[1:], 0.0][: len(costs)])
    dead = np.isinf(after)
    step = np.where(dead, 0.0, after - np.where(dead, 0.0, costs))
    base = float(costs[first].sum() + beyond[alone].sum())
    return _Levels(first, step, dead, level, row, base)
