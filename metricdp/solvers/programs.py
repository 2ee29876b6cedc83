"""Linear and integer programs by HiGHS: a thin layer on scipy, set cover, maximum coverage, and
p-median with a variable for each client's different costs (Elloumi, 2010).
"""

import atexit
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, issparse

from metricdp.arguments import Bools, Floats, Ints
from metricdp.kernels.covering import cover_rows
from metricdp.kernels.dual_ascent import Entries
from metricdp.solvers.stopping import Deadline

_ROUNDING = 1e-6  # HiGHS's feasibility tolerance
_PLAIN, _BITS = (1.0, 1e9), 10
"""Largest coefficients that HiGHS is given as they are; others are scaled to below 2^10: its
tolerances are absolute, beside loads of 1e-7 it would see nothing, and 1e20 counts as infinite.
"""
_EXCHANGES = (60_000, 200_000_000)
"""Most steps and updates of the exchanges before an integer program for a cover, .1 s: these find
it within .01 s, if there is one, where the program takes seconds (700 points, k = 12 and 30).
"""
_TICK, _LATE, _LEAVING = 0.05, 0.5, 5.0
"""Seconds between looks at the time while HiGHS runs; what it gets beyond a limit, to end itself;
for how long Python's end waits for one left behind: if it ends meanwhile, the process aborts.
"""
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


class Constraint(NamedTuple):
    """``lower <= matrix @ x <= upper``, row by row."""

    matrix: Any
    lower: Any
    upper: Any


class Optimum(NamedTuple):
    """What HiGHS ended with.

    `x`: the best point found, None if there is none or time ended before; `value`: its objective;
    `bound`: lower bound of all; `proven`: whether x is proven best, or that there is none.
    """

    x: Floats | None
    value: float
    bound: float
    proven: bool


def minimized(
    cost: Floats,
    constraints: list[Constraint],
    n_integers: int,
    deadline: Deadline,
    *,
    upper: float | Floats = 1.0,
    at_one: Ints | None = None,
    seconds: float = 60.0,
    gap: float = 0.0,
) -> Optimum:
    """Minimize ``cost @ x`` for ``0 <= x <= upper``, the first `n_integers` variables integers,
    those of `at_one` at least 1, within `seconds`; ends at a relative gap of `gap`.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    limit = max(min(seconds, deadline.left), 0.01)
    lower = np.zeros(len(cost))
    lower[[] if at_one is None else at_one] = 1.0
    unit = scale_of(cost)
    found = _awaited(
        deadline,
        milp,
        cost * unit,
        constraints=[LinearConstraint(*_rescaled(rule)) for rule in constraints],
        integrality=np.arange(len(cost)) < n_integers,
        bounds=Bounds(lower, upper),
        options={"time_limit": limit, "mip_rel_gap": gap, "disp": False},
    )
    if found is None:
        return Optimum(None, np.inf, -np.inf, False)
    infeasible = found.status == 2
    bound = getattr(found, "mip_dual_bound", None)
    least = np.inf if infeasible else -np.inf if bound is None else float(bound) / unit
    if found.x is None:
        return Optimum(None, np.inf, least, infeasible)
    return Optimum(found.x, float(found.fun) / unit, least, found.status == 0)


def relaxed(
    cost: Floats,
    rows: Any,
    sides: Floats,
    deadline: Deadline,
    *,
    seconds: float = 60.0,
    presolve: bool = True,
    **options: Any,
) -> Any:
    """scipy's minimum of ``cost @ x`` for ``rows @ x <= sides`` and ``0 <= x <= 1``, with its
    prices; None if there is none, or none within `seconds`. `options`: of `linprog`.
    """
    from scipy.optimize import linprog

    limit = max(min(seconds, deadline.left), 0.01)
    options = {"bounds": (0, 1), "method": "highs"} | options
    options["options"] = {"presolve": presolve, "time_limit": limit}
    found = _awaited(deadline, linprog, cost, A_ub=rows, b_ub=sides, **options)
    return None if found is None or found.status != 0 else found


def _awaited(deadline: Deadline, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The answer of a call of HiGHS, which does not heed Ctrl-C, nor always its time limit: it runs
    in a thread of its own. None if it is not there when time is over; it then ends later.
    """
    answer: Future[Any] = Future()

    def run() -> None:
        try:
            answer.set_result(call(*args, **options))
        except BaseException as error:
            answer.set_exception(error)

    worker = Thread(target=run, daemon=True)
    worker.start()
    try:
        while not wait([answer], _TICK).done:
            if deadline.left < -_LATE:
                return None
        return answer.result()
    finally:
        if not answer.done():
            atexit.register(worker.join, _LEAVING)


def seconds_of_rounds(first: float, deadline: Deadline) -> Iterator[float]:
    """Seconds for integer programs in each round of a search: 0, `first`, and, with a time limit,
    twice as many each time until it is over.
    """
    seconds = 0.0
    while not deadline.over:
        yield seconds
        if seconds and deadline.seconds is None:
            break
        seconds = 2 * seconds or first


def scale_of(coefficients: Floats) -> float:
    """The power of two by which HiGHS gets these coefficients multiplied; 1 for ordinary ones."""
    largest = float(np.abs(coefficients).max(initial=0.0))
    if largest == 0.0 or _PLAIN[0] <= largest <= _PLAIN[1]:
        return 1.0
    return float(np.ldexp(1.0, min(_BITS - int(np.frexp(largest)[1]), 1000)))


def _rescaled(rule: Constraint) -> Constraint:
    """The same constraint in another unit."""
    unit = scale_of(rule.matrix.data if issparse(rule.matrix) else rule.matrix)
    return Constraint(*(part * unit for part in rule))


def side_by_side(*parts: Any) -> csr_array:
    """Matrices side by side; an integer stands for so many columns of zeros."""
    height = next(part.shape[0] for part in parts if not isinstance(part, int))
    blocks = [csr_array((height, part)) if isinstance(part, int) else part for part in parts]
    return csr_array(hstack(blocks, format="csr"))


def fewest_columns(
    covers: csr_array, deadline: Deadline, *, at_most: int | None = None, seconds: float = 60.0
) -> tuple[Ints | None, float, bool]:
    """Set cover: the fewest columns of a 0-1 matrix that cover all its rows; with `at_most` any
    cover of so few columns.

    Returns the columns (None where there are none, or none were found in time), a lower bound of
    their number, and whether the answer is settled.
    """
    n_rows, n_columns = covers.shape
    if n_rows == 0:
        return np.empty(0, np.int64), 0.0, True
    if (np.diff(covers.indptr) == 0).any():
        return None, np.inf, True
    # A greedy cover and the rounded-up linear bound often settle it without integers.
    greedy = greedy_columns(covers)
    if at_most is not None and len(greedy) <= at_most:
        return greedy, 0.0, True
    least = relaxed(
        np.ones(n_columns), -covers, -np.ones(n_rows), deadline, seconds=seconds or 60.0
    )
    lower = 0.0 if least is None else float(np.ceil(least.fun - _ROUNDING))
    if at_most is not None and lower > at_most:
        return None, lower, True
    if lower >= len(greedy):
        return greedy, lower, True
    if at_most is not None and exchanged(covers, chosen := greedy[:at_most]):
        return chosen, lower, True
    if seconds == 0:
        return (greedy if at_most is None else None), lower, False
    rules = [Constraint(covers, 1.0, np.inf)]
    if at_most is not None:
        rules.append(Constraint(np.ones((1, n_columns)), 0.0, float(at_most)))
    target = np.full(n_columns, 1.0 if at_most is None else 0.0)
    found = minimized(target, rules, n_columns, deadline, seconds=seconds)
    if found.x is None:
        if at_most is not None:
            return None, np.inf if found.proven else lower, found.proven
        return greedy, lower, False
    columns = np.flatnonzero(found.x > 0.5)
    if at_most is not None:
        return columns, lower, True
    lower = len(columns) if found.proven else max(lower, np.ceil(found.bound - _ROUNDING))
    if len(greedy) < len(columns):
        columns = greedy
    return columns, float(min(lower, len(columns))), lower >= len(columns)


def exchanged(covers: csr_array, chosen: Ints, limits: tuple[int, int] = _EXCHANGES) -> bool:
    """Exchange the chosen columns in place until they cover all rows; whether they do. `limits`: of
    steps and of updates (`cover_rows`).
    """
    by_column = csr_array(covers.T.tocsr())
    lists = [(a.indptr.astype(np.int64), a.indices.astype(np.int64)) for a in (by_column, covers)]
    return len(chosen) > 0 and bool(cover_rows(*lists, chosen, *limits, len(chosen))[0])


def greedy_columns(covers: csr_array) -> Ints:
    """A greedy set cover (columns), without those that turn out redundant."""
    by_column = covers.T.tocsr()
    open_rows = np.ones(covers.shape[0])
    chosen: list[int] = []
    while open_rows.any():
        best = int(np.argmax(by_column @ open_rows))
        chosen.append(best)
        open_rows[by_column.indices[by_column.indptr[best] : by_column.indptr[best + 1]]] = 0.0
    count = np.asarray(by_column[chosen].sum(axis=0)).ravel()
    kept = []
    for column in chosen:
        rows = by_column.indices[by_column.indptr[column] : by_column.indptr[column + 1]]
        if (count[rows] > 1).all():
            count[rows] -= 1
        else:
            kept.append(column)
    return np.array(kept, np.int64)


def most_covered(
    covers: csr_array, first: Floats, second: Floats, k: int, fixed: Ints, deadline: Deadline
) -> Optimum:
    """Maximum coverage: k columns that cover the rows of the largest sum of `first`, and of
    `second` for rows covered twice; `fixed` columns are among them.
    """
    n_rows, n_columns = covers.shape
    twice = bool((second > 0).any())
    served = [-eye_array(n_rows)] * (2 if twice else 1)
    linked = Constraint(side_by_side(covers, *served), 0.0, np.inf)
    count = Constraint(
        side_by_side(np.ones((1, n_columns)), n_rows * len(served)), float(k), float(k)
    )
    cost = -np.r_[np.zeros(n_columns), first, second if twice else np.empty(0)]
    found = minimized(cost, [linked, count], n_columns, deadline, at_one=fixed)
    x = None if found.x is None else found.x[:n_columns]
    return Optimum(x, -found.value, -found.bound, found.proven)


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
