"""The best centers, and a proof: dual ascent, fixing, branches, then an integer program of the
rest.

`metricdp.solvers.bounds` gives multipliers ``l`` and a bound L of what anything better than the
centers at hand costs. A row whose opening, or closing, would raise L above their cost is fixed
(Beasley, EJOR 1985), and so is a pair: serving j from i raises L by ``c[i, j] - l[j]`` where that
is positive. What is left is usually a small part of the pairs, and an integer program (HiGHS)
settles it, or narrows the interval in the time there is.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from metricdp.metrics.base import Metric
from metricdp.solvers.bounds import Ascent, Certificate, certify, judged
from metricdp.solvers.effort import Effort, solve_with
from metricdp.solvers.objectives.programs import solved
from metricdp.solvers.stopping import Deadline

TIME_LIMIT = 600.0
"""Seconds by default."""
_SEARCH_SHARE = 0.25
_ASCENT_SHARE = 0.5
"""Of the time for the search; of what is left for the ascent and its branches."""
_STEPS = 20_000
_MOST_PAIRS = 1_000_000
"""Larger programs are not begun."""
_TRUST = 1e-7
"""By so much, relative, the program's bound is lowered: its arithmetic is floating."""


def solve_exactly(
    metric: Metric,
    weights: NDArray[np.float64],
    k: int,
    *,
    power: int = 1,
    candidates: NDArray[np.int64] | None = None,
    opened: NDArray[np.int64] | None = None,
    seed: int = 0,
    effort: Effort = "thorough",
    time_limit: float | None = None,
) -> tuple[NDArray[np.int64], Certificate]:
    """The best k centers with a proof, or the best found and an interval, by a time limit.

    Parameters
    ----------
    metric, weights, k, power, candidates, opened, seed, effort
        As `metricdp.solvers.effort.solve_with`; at most 20 million pairs of candidate and demand.
    time_limit : float, optional
        Seconds of it all, 600 by default; a step under way may take longer.

    Returns
    -------
    centers : ndarray of int64, shape (k,)
        Positions.
    proof : Certificate
        Gap 0 if they are proven best.

    Raises
    ------
    InputError
        More than 20 million pairs of candidate and demand point.

    Notes
    -----
    The bound of the ascent is rounded down by more than its rounding errors; that of the integer
    program by 1e-7 of its size, as it rests on HiGHS' floating-point tolerances. Costs that are no
    integers count as equal up to 1e-9 of their size.

    Examples
    --------
    >>> import metricdp as mdp
    >>> points = mdp.EuclideanMetric([[0.0], [1.0], [2.0], [9.0], [11.0]])
    >>> centers, proof = solve_exactly(points, np.ones(5), 2)
    >>> proof.cost, proof.gap
    (4.0, 0.0)
    """
    with Deadline(TIME_LIMIT if time_limit is None else time_limit) as deadline:
        found = solve_with(
            effort,
            metric,
            weights,
            k,
            power=power,
            candidates=candidates,
            opened=opened,
            seed=seed,
            time_limit=_SEARCH_SHARE * max(deadline.left, 0.0),
        ).centers
        return judged(
            metric,
            weights,
            found,
            prove,
            power=power,
            candidates=candidates,
            opened=opened,
            deadline=deadline,
        )


def prove(
    block: NDArray[Any],
    weights: NDArray[np.float64],
    rows: NDArray[np.int64],
    fixed: NDArray[np.int64],
    deadline: Deadline,
) -> tuple[NDArray[np.int64], Certificate]:
    """Settle a block of costs, shape (n_candidates, n_demand), from `rows` on.

    Returns
    -------
    rows : ndarray of int64, shape (k,)
        Those given, or better ones.
    proof : Certificate
    """
    if (weights < 0).any() or not (weights > 0).any():
        return rows, certify(block, weights, rows, opened=fixed, deadline=deadline)
    demand = weights > 0
    costs = np.ascontiguousarray(block[:, demand] * weights[demand])
    ascent = Ascent.below(costs, rows, fixed, deadline)
    cost = ascent.upper
    with Deadline(_ASCENT_SHARE * max(deadline.left, 0.0)) as ascent.deadline:
        ascent.climb(ascent.best, _STEPS)
    ascent.deadline = deadline
    ascent.shrink()
    if ascent.bound > ascent.target or deadline.over:
        return rows, Certificate(cost, min(cost, ascent.rounded(ascent.bound)))
    tree = copy(ascent)
    tree.must = ascent.must.copy()
    bound = tree.branch()
    if bound > ascent.target or deadline.over:
        return rows, Certificate(cost, min(cost, ascent.rounded(bound)))
    pairs = ascent.pairs()
    if np.count_nonzero(pairs) > _MOST_PAIRS:
        return rows, Certificate(cost, min(cost, ascent.rounded(bound)))
    chosen, least = _program(ascent, pairs, deadline)
    lower = ascent.rounded(max(bound, least))
    if chosen is not None:
        better = float(costs[chosen].min(axis=0).sum())
        if better < cost:
            rows = np.r_[fixed, np.setdiff1d(chosen, fixed)]
            cost = better
    return rows, Certificate(cost, min(cost, lower))


def _program(
    ascent: Ascent, pairs: NDArray[np.bool_], deadline: Deadline
) -> tuple[NDArray[np.int64] | None, float]:
    """Rows of the best solution among the pairs that are left, if any was found, and what each
    solution among them costs at least: infinite if there is none better than the one at hand.
    """
    at, column = np.nonzero(pairs)
    m, n = pairs.shape
    if not pairs.any(axis=0).all():
        return None, np.inf
    size = len(at)
    number = np.arange(size)
    ones = np.ones(size)
    cost = np.r_[np.zeros(m), ascent.costs[at, column]]
    once = csr_array((ones, (column, m + number)), (n, m + size))
    linked = csr_array(
        (np.r_[-ones, ones], (np.r_[number, number], np.r_[at, m + number])), (size, m + size)
    )
    count = csr_array((np.ones(m), (np.zeros(m, int), np.arange(m))), (1, m + size))
    rules = [
        LinearConstraint(once, 1.0, 1.0),
        LinearConstraint(linked, -np.inf, 0.0),
        LinearConstraint(count, float(ascent.k), float(ascent.k)),
        LinearConstraint(csr_array(cost[None]), -np.inf, ascent.target * (1 + _TRUST)),
    ]
    must = np.flatnonzero(ascent.must)
    if len(must):
        open_ = csr_array((np.ones(len(must)), (np.arange(len(must)), must)), (len(must), m + size))
        rules.append(LinearConstraint(open_, 1.0, 1.0))
    whole = np.r_[np.ones(m, np.int8), np.zeros(size, np.int8)]
    found = solved(cost, rules, whole, np.ones(m + size), deadline, most=np.inf)
    if found.x is None:
        return None, np.inf if found.proven else found.bound * (1 - _TRUST)
    chosen = ascent.rows[np.flatnonzero(found.x[:m] > 0.5)]
    if len(chosen) != ascent.k:
        return None, -np.inf
    return chosen, found.bound * (1 - _TRUST)
