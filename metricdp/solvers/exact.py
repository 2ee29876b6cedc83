"""The best centers, and a proof: dual ascent, fixing, then integer programs of the rest.

`metricdp.solvers.bounds` gives multipliers ``l`` and a bound L of what anything better than the
centers at hand costs. A row whose opening, or closing, would raise L above their cost is fixed
(Beasley, EJOR 1985), and so is a pair: serving j from i raises L by ``c[i, j] - l[j]`` where that
is positive. What is left is usually a small part of the pairs, which may fall into parts that are
settled by themselves (`metricdp.solvers.parts`): an integer program (HiGHS) settles a part, or
narrows its interval in the time there is; branches do where a part is too large for one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from metricdp.metrics.base import Metric
from metricdp.solvers.bounds import Certificate, judged, judged_on_block
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.effort import QUICK, Effort, solve_with
from metricdp.solvers.objectives.programs import solved
from metricdp.solvers.parts import TRUST, Found, cheapest_of_parts
from metricdp.solvers.stopping import Deadline

TIME_LIMIT = 600.0
"""Seconds by default."""
_SEARCH_SHARE = 0.25
_ASCENT_SHARE = 0.5
"""Of the time for the search; of what is left for the ascent and its branches."""
_GLANCE_SHARE = 0.05
_GLANCE_STEPS = 600
"""For a look whether what a quick search finds is best: then no more is searched."""
_STEPS = 20_000
_PATIENCE = 60
_LEAST = 1e-7
_MOST_PAIRS = 60_000
"""Larger programs are not begun: branches follow instead, at most so many."""
_MOST_NODES = 10_000_000


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
        As `metricdp.solvers.effort.solve_with`.
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
        Negative weights, and more than 20 million pairs of candidate and demand point.

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
    problem: dict[str, Any] = {"power": power, "candidates": candidates, "opened": opened}
    with Deadline(TIME_LIMIT if time_limit is None else time_limit) as deadline:
        for spent in dict.fromkeys((QUICK, effort)):
            found = solve_with(
                spent,
                metric,
                weights,
                k,
                seed=seed,
                time_limit=_SEARCH_SHARE * max(deadline.left, 0.0),
                **problem,
            ).centers
            prover = settled if spent == effort else _glanced_at
            centers, proof = judged(metric, weights, found, prover, deadline=deadline, **problem)
            if proof.gap == 0 or deadline.over:
                break
    return centers, proof


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
    return judged_on_block(np.asarray(block, np.float64), weights, rows, fixed, settled, deadline)


def _glanced_at(
    ascent: Ascent,
    rows: NDArray[np.int64],
    cost_of: Callable[[NDArray[np.int64]], float],
) -> tuple[NDArray[np.int64], Certificate]:
    """The rows as they are, by a short ascent: often enough where the relaxation has no gap."""
    deadline, cost = ascent.deadline, ascent.upper
    with Deadline(_GLANCE_SHARE * max(deadline.left, 0.0)) as ascent.deadline:
        ascent.climb(ascent.best, _GLANCE_STEPS)
    return rows, Certificate(cost, min(cost, ascent.rounded(ascent.bound)))


def settled(
    ascent: Ascent,
    rows: NDArray[np.int64],
    cost_of: Callable[[NDArray[np.int64]], float],
) -> tuple[NDArray[np.int64], Certificate]:
    """The best rows, from `rows` on: a long ascent, then what is left, part by part."""
    deadline, cost = ascent.deadline, ascent.upper
    fixed = np.flatnonzero(ascent.must)
    with Deadline(_ASCENT_SHARE * max(deadline.left, 0.0)) as ascent.deadline:
        ascent.climb(ascent.best, _STEPS, patience=_PATIENCE, least=_LEAST)
    ascent.deadline = deadline
    ascent.shrink()
    if ascent.bound > ascent.target or deadline.over:
        return rows, Certificate(cost, min(cost, ascent.rounded(ascent.bound)))
    ascent.narrow()
    chosen, least = cheapest_of_parts(ascent, _settled_part)
    bound = max(ascent.bound, least)
    if chosen is not None:
        better = cost_of(chosen)
        if better < cost:
            rows = np.r_[fixed, np.setdiff1d(chosen, fixed)]
            cost = ascent.upper = better
            ascent.count_in_integers(ascent.whole)
    if bound <= ascent.target and bound > cost * (1 - 2 * TRUST):
        bound = max(
            bound, ascent.branch()[1]
        )  # only what the programs' arithmetic cannot tell is open
    return rows, Certificate(cost, min(cost, ascent.rounded(bound)))


def _settled_part(ascent: Ascent) -> Found:
    """By a program, or by branches where that is too large."""
    ascent.shrink()
    if ascent.bound > ascent.target:
        return None, np.inf
    ascent.narrow()
    if len(ascent.entries.cost) > _MOST_PAIRS:
        return ascent.branch(_MOST_NODES, np.inf)
    return _program(ascent, ascent.deadline)


def _program(ascent: Ascent, deadline: Deadline) -> Found:
    """Rows of the best solution among the entries that are left, if any was found, and what each
    solution among them costs at least: infinite if there is none better than the one at hand.

    Of each demand point the different costs go up in levels; a variable a level tells whether it is
    served beyond that, which costs the step to the next one (Elloumi, Annals of Operations Research
    2010): of the programs with this relaxation the one of fewest nonzeros.
    """
    levels = _levels(ascent)
    if levels is None:
        return None, np.inf
    m = len(ascent.rows)
    size = len(levels.step)
    number = m + np.arange(size)
    beyond = csr_array((np.ones(size), (np.arange(size), number)), (size, m + size))
    follows = np.flatnonzero(~levels.first)
    before = csr_array((-np.ones(len(follows)), (follows, number[follows] - 1)), (size, m + size))
    opens = csr_array((np.ones(len(levels.row)), (levels.level, levels.row)), (size, m + size))
    cost = np.r_[np.zeros(m), levels.step]
    count = csr_array((np.ones(m), (np.zeros(m, int), np.arange(m))), (1, m + size))
    room = ascent.target * (1 + TRUST) - levels.base
    rules = [
        LinearConstraint(beyond + before + opens, levels.first.astype(float), np.inf),
        LinearConstraint(count, float(ascent.k), float(ascent.k)),
        LinearConstraint(csr_array(cost[None]), -np.inf, room),
    ]
    must = np.flatnonzero(ascent.must)
    if len(must):
        open_ = csr_array((np.ones(len(must)), (np.arange(len(must)), must)), (len(must), m + size))
        rules.append(LinearConstraint(open_, 1.0, 1.0))
    whole = np.r_[np.ones(m, np.int8), np.zeros(size, np.int8)]
    most = np.r_[np.ones(m), np.where(levels.dead, 0.0, 1.0)]
    found = solved(cost, rules, whole, most, deadline, most=np.inf)
    if found.x is None:
        bound = levels.base + found.bound
        return None, np.inf if found.proven else bound - TRUST * abs(bound)
    chosen = ascent.rows[np.flatnonzero(found.x[:m] > 0.5)]
    bound = levels.base + found.bound
    if len(chosen) != ascent.k:
        return None, -np.inf
    return chosen, bound - TRUST * abs(bound)


class _Levels(NamedTuple):
    """Different costs of every demand point, upwards, those of one after those of another.

    Attributes
    ----------
    first : ndarray of bool
        Whether a level is its demand point's first.
    step : ndarray of float64
        What being served beyond it costs more.
    dead : ndarray of bool
        Whether nothing is beyond it.
    level, row : ndarray of int64, shape (n_entries,)
        Which row serves at which level.
    base : float
        Sum of the first levels' costs.
    """

    first: NDArray[np.bool_]
    step: NDArray[np.float64]
    dead: NDArray[np.bool_]
    level: NDArray[np.int64]
    row: NDArray[np.int64]
    base: float


def _levels(ascent: Ascent) -> _Levels | None:
    """None if a demand point can be served by nobody."""
    start, client, cost = ascent.entries
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    order = np.lexsort((cost, client))
    client, cost, row = client[order], cost[order], row[order]
    beyond = ascent.beyond
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
