"""Counts and histograms under their exact laws, alone and composed."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from metricdp.accounting import Cost
from metricdp.audit.exact import Case
from metricdp.audit.worlds import (
    EPSILON,
    FORMS,
    RELATIONS,
    Labels,
    UnitCells,
    demands,
    emptiness,
    finest,
    small_demands,
    worlds,
)
from metricdp.errors import BudgetError
from metricdp.metrics import EuclideanMetric
from metricdp.privacy import (
    CountQuery,
    HistogramQuery,
    LevelsQuery,
    SumsQuery,
    measure,
    moved,
    split,
)

GAUSS = (Fraction(4), Fraction(1, 1000))
UNITS: tuple[int | None, ...] = (None, 1, 2)


def counting_cases() -> Iterator[Case]:
    """Counts, with Laplace noise and with Gaussian, and their compositions."""
    yield from _counts()
    yield from _gaussians()
    yield from _composed()


def _measure(query: Any, epsilon: Any, delta: Any, demand: Any, ledger: Any) -> Any:

    return measure(demand, query, epsilon, ledger.charge(epsilon, delta), delta)


def _counts() -> Iterator[Case]:

    every = worlds()
    for name in ("two points", "three points", "a zero-distance pair", "a box"):
        world = every[name]
        box = name == "a box"
        fine = HistogramQuery(UnitCells(world.universe) if box else finest(world.universe))
        queries: dict[str, Any] = {"HistogramQuery": fine, "CountQuery": CountQuery()}
        if box:
            queries["SumsQuery"] = SumsQuery(fine, bits=3)
            folded = SumsQuery(fine, 3, [[1.0], [1.0], [1.5]], [0.25, 0.25, 0.5], folded=True)
            queries["SumsQuery, folded, in levels"] = LevelsQuery(
                (folded, SumsQuery(fine, 3, [1.0], 0.25))
            )
            queries["SumsQuery from centers"] = SumsQuery(
                fine, 3, [[1.0], [1.0], [1.5]], [0.25, 0.25, 0.5]
            )
        if name == "two points":
            queries["HistogramQuery with an empty part"] = HistogramQuery(
                Labels(world.universe, (0, 2), 3)
            )
            queries["LevelsQuery"] = LevelsQuery(
                (HistogramQuery(Labels(world.universe, (0, 0), 1)), fine)
            )
        for (kind, query), relation, m in product(queries.items(), RELATIONS, UNITS):
            essential = (
                name == "two points"
                and m != 1
                and kind != "HistogramQuery with an empty part"
                and not (m and (kind == "LevelsQuery" or relation == "replace-one"))
            )
            reach = 0.999
            if kind == "LevelsQuery" and relation == "replace-one":
                reach = 0.5  # the top level does not move: its share of the bound is not reached
            if kind == "CountQuery" and relation == "replace-one" and m != 2:
                reach = 0.0  # sensitivity 0: exact, and the same for all neighbors
            if m == 2 and name != "two points":
                reach = 0.3  # users of two records
            if kind.startswith("SumsQuery"):
                # of the whole box: the places are not at its opposite ends
                essential = m is None
                reach = min(reach, 0.8 if kind == "SumsQuery" else 1.0)
            call = partial(_measure, query, EPSILON, 0)
            some = small_demands(world, m)
            yield Case(kind, world, call, some, relation, m, reach=reach, essential=essential)


def _gaussians() -> Iterator[Case]:

    world = worlds()["two points"]
    fine = HistogramQuery(finest(world.universe))
    rho = Cost.zcdp(*GAUSS).rho

    def pooled(query: Any, demand: Any, ledger: Any) -> Any:

        cost = Cost.zcdp(*GAUSS)
        return measure(demand, query, cost.epsilon, ledger.charge(cost), cost.delta)

    for relation, m in FORMS:
        some = demands(2, 3) if m is None else demands(2, 2, 2)
        name, call = "HistogramQuery, Gaussian", partial(pooled, fine)
        yield Case(name, world, call, some, relation, m, GAUSS, 0.9, rho=rho, essential=True)


def _composed() -> Iterator[Case]:

    world = worlds()["two points"]
    query = HistogramQuery(finest(world.universe))
    one_part = HistogramQuery(Labels(world.universe, (0, 0), 1))

    def parts(demand: Any, ledger: Any) -> Any:
        halves = split(demand, finest(world.universe), EPSILON, ledger)
        return [measure(part, one_part, EPSILON, grant) for part, grant in halves]

    def worst(demand: Any, ledger: Any) -> Any:
        return [
            emptiness(part, EPSILON, grant)
            for part, grant in split(demand, finest(world.universe), EPSILON, ledger)
        ]

    def twice(demand: Any, ledger: Any) -> Any:
        grant = ledger.charge(EPSILON)
        answers = [
            measure(demand, one_part, EPSILON / 2, grant),
            measure(demand, one_part, EPSILON / 2, grant),
        ]
        try:
            answers.append(measure(demand, one_part, EPSILON / 2, grant))
        except BudgetError as refused:
            return [*answers, str(refused)]
        return answers

    def refused(demand: Any, ledger: Any) -> Any:
        return measure(demand, query, EPSILON, ledger.charge(EPSILON / 2))

    line = EuclideanMetric([[0.0], [1.0], [2.0]])

    def elsewhere(demand: Any, ledger: Any) -> Any:
        there = moved(demand, UnitCells(demand.universe), line)
        return measure(there, HistogramQuery(finest(line)), EPSILON, ledger.charge(EPSILON))

    box = worlds()["a box"]
    for relation, m in product(RELATIONS, UNITS):
        some = small_demands(world, None) if m is None else demands(2, 2, 2)
        form = (some, relation, m, (4, 0))
        reach = 0.999 if m is None else 0.4
        yield Case("split, counts", world, parts, *form, reach, essential=m is None)
        # two parts cannot tell more than twice their epsilon
        reach = 0.4 if relation == "replace-one" and m == 2 else 0.999
        yield Case("split, any mechanism", world, worst, *form, reach, essential=m != 1)
        some = small_demands(box, m)
        reach = 0.999 if m is None else 0.3
        name = "moved, counts"
        yield Case(name, box, elsewhere, some, relation, m, reach=reach, essential=m == 2)
    some = small_demands(world, None)
    for relation in RELATIONS:
        name, short = "a grant spent in pieces", relation == "add-remove"
        yield Case(name, world, twice, some, relation, budget=(4, 0), reach=0.0, essential=short)
    name = "a call beyond its grant"
    yield Case(name, world, refused, some, "add-remove", reach=0.0, refused=True, essential=True)
