"""Independent sets of a fixed size: rows no two of which are near each other.

A linear program with cliques, of which any independent set has one row at most, bounds its size.
Rows that the bound excludes, and those that others dominate, are dropped (reduced costs; Sayah &
Irnich, EJOR 256, 2017, have the program). An integer program decides what is left. Cliques are
added where a solution violates them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metricdp.arguments import Bools, Ints
from metricdp.solvers.objectives.dominance import matrix_of, maximal
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.programs import Constraint, minimized, relaxed
from metricdp.solvers.stopping import Deadline

_ROUNDING, _VIOLATED = 1e-6, 1e-3
"""Of a program's value; by how much a solution must violate a clique that is added."""
_SECONDS = 20.0
"""Most seconds of the linear programs, so that many rows end undecided."""


def independent_rows(
    near: Bools, k: int, deadline: Deadline, seconds: float
) -> tuple[Ints | None, bool]:
    """k rows no two of which are near each other (None: none found), and whether that is proven.

    `near` (n, n): symmetric; `seconds`: of an integer program, 0 for none. O(n³) a reduction of
    rows at most, O(n²) for each row of a linear program's solution.
    """
    near = near | np.eye(len(near), dtype=np.bool_)
    rows = np.arange(len(near))
    if k == 1 and len(rows):
        return rows[:1], True
    cliques: list[NDArray[np.int32]] = []
    linear = Deadline(min(_SECONDS, deadline.left))
    degree = near.sum(axis=1) / len(near) if len(near) else np.empty(0)
    reduced = True
    while True:
        if reduced:  # a row that is near all that another is near can be exchanged for that one
            rows = rows[maximal(csr_array(~near[np.ix_(rows, rows)], dtype=np.float64))]
        if len(rows) < k:
            return None, True
        if linear.over or deadline.over:
            return None, False
        x, prices, excess = _sized(matrix_of(cliques, len(near))[:, rows], deadline, linear.left)
        bound = prices.sum() + np.maximum(excess, 0.0).sum()
        if bound < k - _ROUNDING:
            return None, True
        worth = np.full(len(near), -1.0)
        worth[rows] = x + _ROUNDING * degree[rows]
        grown = (_clique(near, [i], worth) for i in rows[x > _ROUNDING])
        violated = {c.tobytes(): c for c in grown if worth[c].sum() > 1 + _VIOLATED}
        if violated:
            cliques += list(violated.values())
            reduced = False
            continue
        inside = bound + np.minimum(excess, 0.0) >= k - _ROUNDING
        reduced = not inside.all()
        rows = rows[inside]
        if not reduced:
            return _decided(near, rows, k, cliques, degree, deadline, seconds)


def _sized(cliques: csr_array, deadline: Deadline, seconds: float) -> tuple[Floats, Floats, Floats]:
    """Most rows by a linear program: the share of each, prices of cliques, and what each row is
    worth more than its cliques' prices. Prices bound the size, whatever the rounding.
    """
    n_cliques, n_rows = cliques.shape
    found = relaxed(-np.ones(n_rows), cliques, np.ones(n_cliques), deadline, seconds=seconds)
    if found is None:
        return np.zeros(n_rows), np.zeros(n_cliques), np.ones(n_rows)
    prices = np.maximum(-found.ineqlin.marginals, 0.0)
    return found.x, prices, 1.0 - cliques.T @ prices


def _decided(
    near: Bools,
    rows: Ints,
    k: int,
    cliques: list[NDArray[np.int32]],
    degree: Floats,
    deadline: Deadline,
    seconds: float,
) -> tuple[Ints | None, bool]:
    """The answer of an integer program; pairs that its solutions violate get cliques."""
    worth = np.full(len(near), -1.0)
    worth[rows] = degree[rows]
    count = Constraint(np.ones((1, len(rows))), float(k), float(k))
    time = Deadline(min(seconds, deadline.left))
    while not time.over and not deadline.over:
        apart = Constraint(matrix_of(cliques, len(near))[:, rows], 0.0, 1.0)
        rules = [count, apart]
        answer = minimized(np.zeros(len(rows)), rules, len(rows), deadline, seconds=time.left)
        if answer.x is None:
            return None, answer.proven
        chosen = rows[answer.x > 0.5]
        pairs = np.argwhere(np.triu(near[np.ix_(chosen, chosen)], 1))
        if len(pairs) == 0:
            return chosen, True
        cliques = cliques + [_clique(near, list(chosen[pair]), worth) for pair in pairs]
    return None, False


def _clique(near: Bools, clique: list[int], worth: Floats) -> NDArray[np.int32]:
    """These rows, and more of large worth, none negative, that are all near each other."""
    worth = np.where(near[clique].all(axis=0), worth, -1.0)
    clique = list(clique)
    worth[clique] = -1.0
    while worth.max() >= 0.0:
        clique.append(int(worth.argmax()))
        worth[~near[clique[-1]]] = -1.0
        worth[clique[-1]] = -1.0
    return np.sort(np.array(clique, np.int32))
