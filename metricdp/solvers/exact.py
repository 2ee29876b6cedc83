"""Exact k-median: local search, dual ascent with variable fixing, then integer programs.

`metricdp.solvers.bounds` gives multipliers ``l`` and a lower bound L. A row is fixed if opening or
closing it would raise L above the best cost (Beasley, EJOR 1985); so is a pair by ``c[i, j] -
l[j]``. What is left falls into independent parts (`metricdp.solvers.parts`), solved by HiGHS or by
branch and bound.
"""

from collections.abc import Callable
from typing import Unpack

import numpy as np

from metricdp.arguments import Floats, Ints, opened_first
from metricdp.metrics.base import Metric
from metricdp.solvers import parts, programs
from metricdp.solvers.bounds import Certificate, judged, keep_centers
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.effort import QUICK, Effort, solve_with
from metricdp.solvers.near_lists import Asked
from metricdp.solvers.programs import TRUST, CheapestRows, Found, answered
from metricdp.solvers.stopping import Deadline

TIME_LIMIT = 600.0
"""Default, in seconds."""
_SEARCH_SHARE = 0.25
_ASCENT_SHARE = 0.5
"""Shares of the time: for the search, and of what is left then, for the ascent and its branches."""
_QUICK_SHARE = 0.05
"""Share of the time for a bound of the quick search: if that proves it, the search ends."""
_STEPS = 20_000
_PATIENCE = 60
_MIN_GAIN = 1e-7
_MOST_NODES = 10_000_000
"""Most branches of a part that is too large for an integer program."""


def solve_exactly(
    metric: Metric,
    weights: Floats,
    k: int,
    *,
    seed: int = 0,
    effort: Effort = "thorough",
    time_limit: float | None = None,
    **asked: Unpack[Asked],
) -> tuple[Ints, Certificate]:
    """The best k centers with a proof, or by a time limit the best found and an interval.

    The bound of the ascent is rounded down by more than its rounding errors, that of an integer
    program by 1e-7 of its size: HiGHS has floating-point tolerances. Costs that are no integers
    count as equal up to 1e-9 of their size.
    """
    with Deadline(TIME_LIMIT if time_limit is None else time_limit) as deadline:
        for spent in dict.fromkeys((QUICK, effort)):
            limit = _SEARCH_SHARE * max(deadline.left, 0.0)
            found = solve_with(spent, metric, weights, k, seed=seed, time_limit=limit, **asked)
            prover = prove if spent == effort else _prove_quickly
            centers, proof = judged(
                metric, weights, found.centers, prover, deadline=deadline, **asked
            )
            if proof.gap == 0 or deadline.over:
                break
    return centers, proof


def _prove_quickly(
    ascent: Ascent, rows: Ints, cost_of: Callable[[Ints], float]
) -> tuple[Ints, Certificate]:
    """Keep the rows, with the bound of a certificate: mostly it is tight."""
    with Deadline(_QUICK_SHARE * max(ascent.deadline.left, 0.0)) as ascent.deadline:
        return keep_centers(ascent, rows, cost_of)


def prove(ascent: Ascent, rows: Ints, cost_of: Callable[[Ints], float]) -> tuple[Ints, Certificate]:
    """The best rows: a long ascent from `rows`, then part by part. Returns them with the bound."""
    deadline, cost = ascent.deadline, ascent.upper
    fixed = np.flatnonzero(ascent.required)
    with Deadline(_ASCENT_SHARE * max(deadline.left, 0.0)) as ascent.deadline:
        ascent.climb(ascent.best, _STEPS, patience=_PATIENCE, min_gain=_MIN_GAIN)
    ascent.deadline = deadline
    ascent.shrink()
    if ascent.bound > ascent.target or deadline.over:
        return rows, Certificate(cost, min(cost, ascent.rounded(ascent.bound)))
    ascent.narrow()
    chosen, least = parts.cheapest_of_parts(ascent, _prove_part, rows)
    bound = max(ascent.bound, least)
    if chosen is not None:
        better = cost_of(chosen)
        if better < cost:
            rows = opened_first(fixed, chosen)
            cost = ascent.upper = better
            ascent.count_in_integers(ascent.integral)
    if bound <= ascent.target and bound > cost * (1 - 2 * TRUST):
        # only a gap within the tolerance of the programs is open
        bound = max(bound, ascent.branch()[1])
    return rows, Certificate(cost, min(cost, ascent.rounded(bound)))


def _prove_part(ascent: Ascent) -> Found:
    """By an integer program, or by branch and bound where that is too large."""
    ascent.shrink()
    if ascent.bound > ascent.target:
        return None, np.inf
    ascent.narrow()
    if len(ascent.entries.cost) > programs.MOST_PAIRS:
        return ascent.branch(_MOST_NODES, np.inf)
    question = CheapestRows(
        ascent.entries, ascent.beyond, ascent.required, ascent.k, ascent.k, ascent.target
    )
    chosen, bound = answered(question, ascent.deadline)
    return None if chosen is None else ascent.rows[chosen], bound
