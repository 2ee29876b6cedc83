"""Cases of selections under their exact distributions: single, from a zCDP accountant, and covering
loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from metricdp.accounting import Cost, Ledger, selection_epsilon
from metricdp.audit.exact import Case
from metricdp.audit.report import Check, Finding, weighed
from metricdp.audit.worlds import (
    FORMS,
    RELATIONS,
    asked,
    demands,
    emptiness,
    finest,
    small_demands,
    worlds,
)
from metricdp.errors import BudgetError
from metricdp.metrics import PrecomputedMetric
from metricdp.metrics.set_systems import Balls, ListedSets
from metricdp.privacy import (
    CentersQuery,
    CostQuery,
    CoverageQuery,
    CoverQuery,
    PrivateDemand,
    SwapQuery,
    select,
)
from metricdp.records.engines import Tally

LARGE = Fraction(5)
"""Epsilon so large that demands of few records come close to the worst one."""
MUCH = partial(Cost.of, LARGE)
RHO_BUDGET = (Fraction(6), Fraction(1, 100))
SPENT = "selections until a zCDP accountant is spent"


def selecting_cases() -> Iterator[Case]:
    """All selections of the gate."""
    for make in (_selections, _zcdp_cases, _covers, _single, _searches):
        yield from make()


def _selections() -> Iterator[Case]:
    every = worlds()
    for name in ("two points", "three points", "a path"):
        world = every[name]
        universe = world.universe
        queries = {
            "CostQuery": CostQuery(universe),
            "CostQuery, squared": CostQuery(universe, power=2),
            "CostQuery, one center": CostQuery(universe, [universe.ids[0]], cap=1.0),
            "CoverageQuery": CoverageQuery(universe, 0),
        }
        points = len(world.places)
        two = points == 2
        for (kind, query), (relation, m) in product(queries.items(), FORMS):
            some = demands(points, 5 if two else 3) if m is None else demands(points, 2, 3, 4)
            reach = 0.85 if two and m is None and kind != "CostQuery, one center" else 0.2
            essential = two and kind in ("CostQuery", "CoverageQuery")
            essential = essential and (m is None or relation == "add-remove")
            form = (some, relation, m, (LARGE, 0), reach)
            yield Case(kind, world, partial(asked, query, MUCH), *form, essential=essential)


@cache
def _each(times: int) -> Fraction:
    """Epsilon of each of a number of selections from the accountant."""
    return selection_epsilon(Cost.zcdp(*RHO_BUDGET), times)


def _zcdp_cases() -> Iterator[Case]:
    """Adaptive selections charged to one zCDP accountant, judged together."""
    cost = Cost.zcdp(*RHO_BUDGET)
    two = worlds()["two points"]
    coverage = partial(CoverageQuery, two.universe, 0)

    def covering(times: int, demand: PrivateDemand, ledger: Ledger) -> Any:
        budget = ledger.charge(cost)
        each = _each(times)
        return [select(demand, coverage(), each, budget) for _ in range(times)]

    def until_spent(demand: PrivateDemand, ledger: Ledger) -> Any:
        budget = ledger.charge(cost)
        return _until_refused(lambda: select(demand, coverage(), _each(3), budget))

    def any_mechanism(demand: PrivateDemand, ledger: Ledger) -> Any:
        accountant, each = ledger.charge(cost), _each(4)
        return _until_refused(
            lambda: emptiness(demand, each, accountant.charge(Cost.selection(each)))
        )

    case = partial(Case, world=two, budget=RHO_BUDGET, reach=0.5, rho=cost.rho)
    short: dict[str, Any] = {"relation": "add-remove", "essential": True}
    name = "any mechanism, until a zCDP accountant is spent"
    yield case(name, call=any_mechanism, demands=demands(2, 2), **short)
    yield case(SPENT, call=until_spent, demands=demands(2, 4), **short)
    for relation, times in product(RELATIONS, (1, 4)):
        form: dict[str, Any] = {
            "relation": relation,
            "essential": times == 4 and relation == "add-remove",
        }
        name, call = f"{times} selections from a zCDP accountant", partial(covering, times)
        yield case(name, call=call, demands=demands(2, 6), **form)


def _until_refused(ask: Callable[[], Any]) -> list[Any]:
    """All answers until the budget is spent, and the message of the refusal."""
    answers: list[Any] = []
    while True:
        try:
            answers.append(ask())
        except BudgetError as refused:
            return [*answers, str(refused)]


def _covers() -> Iterator[Case]:
    """Covering loops of few rounds (long ones: `metricdp.audit.covering`)."""

    every = worlds()
    for name in ("two points", "three points", "a path"):
        world = every[name]
        points = len(world.places)
        listed = ListedSets(np.arange(points + 1), np.arange(points), points)
        overlapping = ListedSets([0, 2, 3], [0, 1, 1], points)
        balls = [(Balls(world.universe, radius), 1) for radius in (0, 1)]
        queries: dict[str, Any] = {
            "CoverQuery": ([(listed, 1), (listed, 1)], (LARGE, 0)),
            "CoverQuery, overlapping sets": ([(overlapping, 2), (listed, 1)], (LARGE, 0)),
            "CoverQuery, balls": (balls, (LARGE, 0)),
        }
        if points == 2:
            queries["CoverQuery, with delta"] = ([(listed, 1)] * 4, (1, Fraction(1, 10)))
        for (kind, (stages, budget)), (relation, m) in product(queries.items(), FORMS):
            few = demands(points, 5 if points == 2 else 2)
            some = few if m is None else small_demands(world, m)
            essential = name == "two points" and m is None and kind == "CoverQuery"
            form = (some, relation, m, budget, 0.7 if essential else 0.0)
            query = partial(CoverQuery, finest(world.universe), stages)
            call = partial(asked, query, partial(Cost.of, *budget))
            yield Case(kind, world, call, *form, essential=essential)


SMALL = Fraction(1, 100)
"""Epsilon so small that a selection is nearly uniform."""


def _single() -> Iterator[Case]:
    """Queries on a path of four vertices, where one record at an end attains the sensitivity."""
    world = worlds()["a path"]
    path = world.universe
    between = partial(SwapQuery, path, candidates=[0, 3])
    several = [[0, 1], [1, 3], [1, 2]]
    queries: dict[str, tuple[Any, float]] = {
        "SwapQuery": (partial(between, [1, 2]), 0.7),
        "SwapQuery, squared": (partial(between, [1, 2], power=2), 0.7),
        "SwapQuery, one center": (partial(between, [1]), 0.85),
        "SwapQuery, one center, cap": (partial(between, [1], cap=1.0), 0.85),
        "SwapQuery, one opened": (partial(SwapQuery, path, [1, 2], opened=[1]), 0.3),
        "CentersQuery": (partial(CentersQuery, path, [[0], [3]]), 0.85),
        "CentersQuery, squared": (partial(CentersQuery, path, several, power=2), 0.7),
    }
    short = ("SwapQuery", "CentersQuery", "SwapQuery, one center, cap")
    for (kind, (query, reach)), (relation, m) in product(queries.items(), FORMS):
        some = demands(4, 3) if m is None else demands(4, 2, 3, 3)
        essential = kind in short and (m is None or kind == "SwapQuery")
        least = reach if m is None and relation == "add-remove" else reach / 3
        form = (some, relation, m, (LARGE, 0), least)
        yield Case(kind, world, partial(asked, query, MUCH), *form, essential=essential)


def _searches() -> Iterator[Case]:
    world = worlds()["a path"]

    def after_a_swap(demand: PrivateDemand, ledger: Ledger) -> Any:
        """The second selection uses sums updated after the first, which is nearly uniform."""
        budget = ledger.charge(LARGE + SMALL)
        query = SwapQuery(world.universe, [1])
        index, first = select(demand, query, SMALL, budget)
        second = select(demand, query.swapped(index), LARGE, budget)
        return [index, first, second, str(query), repr(budget)]

    for relation in RELATIONS:
        some = demands(4, 3)
        name, essential = "a swap after a swap", relation == "add-remove"
        form = (some, relation, None, (6, 0), 0.2)
        yield Case(name, world, after_a_swap, *form, essential=essential)


CHECK = "score by score"
FAR = 671_088_640.0
"""A cost so large that the sum of 13,743,895,347 records' costs is the last to fit int64."""


def saturation_checks() -> Iterator[Check]:
    """The check of saturated scores."""
    yield Check.of("swaps of very many records", True, _swaps)


def _swaps(name: str, quick: bool) -> Finding:
    """No score may change by more than the sensitivity, and none may overflow."""
    universe = PrecomputedMetric([[0.0, FAR, FAR], [FAR, 0.0, FAR], [FAR, FAR, 0.0]])
    query = SwapQuery(universe, [1])
    claim = query.sensitivity("add-remove", 1)
    worst = 0
    for n in (0, 2**31, 13_743_895_346, 13_743_895_347, 2**40, 2**60):
        some: Iterator[Any] = (Tally(np.array([0]), np.array([size])) for size in (n, n + 1))
        one, more = (np.concatenate(list(query.blocks(held))).tolist() for held in some)
        worst = max(worst, *(abs(a - b) for a, b in zip(one, more)))
        if max(*one, *more) > 0:
            worst = max(worst, *one, *more)
    share = worst / claim if claim else math.inf
    return weighed(name, f"a score moves by {claim:,} at most", f"{worst:,}", CHECK, share)
