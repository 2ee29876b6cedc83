"""The best centers with a proof: dual ascent, fixing, then integer programs of the rest.

`metricdp.solvers.bounds` gives multipliers ``l`` and a bound L. A row whose opening or closing
would raise L above the cost at hand is fixed (Beasley, EJOR 1985), and so is a pair for which
``c[i, j] - l[j]`` would. What is left falls into parts (`metricdp.solvers.parts`), settled by HiGHS
or by branches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metricdp.arrays import Floats, Ints, opened_first
from metricdp.metrics.base import Metric
from metricdp.solvers import level_programs, parts
from metricdp.solvers.bounds import Certificate, judged
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.effort import QUICK, Effort, solve_with
from metricdp.solvers.level_programs import TRUST, CheapestRows, Found, answered
from metricdp.solvers.stopping import Deadline

TIME_LIMIT = 600.0
"""Seconds by default."""
_SEARCH_SHARE = 0.25
_ASCENT_SHARE = 0.5
"""Of the time for the search; of what is left for the ascent and its branches."""
_GLANCE_SHARE = 0.05
"""For a bound of what a quick search finds: where that proves it, no more is searched."""
_STEPS = 20_000
_PATIENCE = 60
_LEAST = 1e-7
_MOST_NODES = 10_000_000
"""Branches where a program would be too large."""


def solve_exactly(
    metric: Metric,
    weights: Floats,
    k: int,
    *,
    power: int = 1,
    candidates: Ints | None = None,
    opened: Ints | None = None,
    seed: int = 0,
    effort: Effort = "thorough",
    time_limit: float | None = None,
) -> tuple[Ints, Certificate]:
    """The best k centers with a proof, or the best found and an interval, by a time limit.

    The bound of the ascent is rounded down by more than its rounding errors; that of the integer
    program by 1e-7 of its size, as it rests on HiGHS' floating-point tolerances. Costs that are no
    integers count as equal up to 1e-9 of their size.
    """
    problem: dict[str, Any] = {"power": power, "candidates": candidates, "opened": opened}
    with Deadline(TIME_LIMIT if time_limit is None else time_limit) as deadline:
        for spent in dict.fromkeys((QUICK, effort)):
            limit = _SEARCH_SHARE * max(deadline.left, 0.0)
            found = solve_with(spent, metric, weights, k, seed=seed, time_limit=limit, **problem)
            prover = settled if spent == effort else _glanced_at
            centers, proof = judged(
                metric, weights, found.centers, prover, deadline=deadline, **problem
            )
            if proof.gap == 0 or deadline.over:
                break
    return centers, proof


def _glanced_at(
    ascent: Ascent, rows: Ints, cost_of: Callable[[Ints], float]
) -> tuple[Ints, Certificate]:
    """The rows as they are, by what a certificate does: mostly enough."""
    deadline, cost = ascent.deadline, ascent.upper
    with Deadline(_GLANCE_SHARE * max(deadline.left, 0.0)) as ascent.deadline:
        return rows, Certificate(cost, min(cost, ascent.settled()))


def settled(
    ascent: Ascent, rows: Ints, cost_of: Callable[[Ints], float]
) -> tuple[Ints, Certificate]:
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
    chosen, least = parts.cheapest_of_parts(ascent, _settled_part, rows)
    bound = max(ascent.bound, least)
    if chosen is not None:
        better = cost_of(chosen)
        if better < cost:
            rows = opened_first(fixed, chosen)
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
    if len(ascent.entries.cost) > level_programs.MOST_PAIRS:
        return ascent.branch(_MOST_NODES, np.inf)
    question = CheapestRows(
        ascent.entries, ascent.beyond, ascent.must, ascent.k, ascent.k, ascent.target
    )
    chosen, bound = answered(question, ascent.deadline)
    return None if chosen is None else ascent.rows[chosen], bound
