"""Swaps and choices among sets of centers: one by one, in turn, and as a whole search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from metricdp.audit.exact import Case
from metricdp.audit.worlds import FORMS, RELATIONS, demands, worlds
from metricdp.privacy import CentersQuery, SwapQuery, select

LARGE = Fraction(5)
SMALL = Fraction(1, 100)
"""Large, so that few records are nearly the worst demand; small, so that selection is a coin."""


def search_cases() -> Iterator[Case]:
    """A path of four vertices where one record can be the worst of all: at one end."""
    yield from _single()
    yield from _searches()


def _single() -> Iterator[Case]:

    def one(ask: Callable[[], Any], demand: Any, ledger: Any) -> Any:

        return select(demand, ask(), LARGE, ledger.charge(LARGE))

    world = worlds()["a path"]
    path = world.universe
    ends = [0, 3]
    queries: dict[str, tuple[Callable[[], Any], float]] = {
        "SwapQuery": (lambda: SwapQuery(path, [1, 2], candidates=ends), 0.7),
        "SwapQuery, squared": (lambda: SwapQuery(path, [1, 2], candidates=ends, power=2), 0.7),
        "SwapQuery, one center": (lambda: SwapQuery(path, [1], candidates=ends), 0.85),
        "SwapQuery, one center, cap": (
            lambda: SwapQuery(path, [1], candidates=ends, cap=1.0),
            0.85,
        ),
        "SwapQuery, one opened": (lambda: SwapQuery(path, [1, 2], opened=[1]), 0.3),
        "CentersQuery": (lambda: CentersQuery(path, [[0], [3]]), 0.85),
        "CentersQuery, squared": (
            lambda: CentersQuery(path, [[0, 1], [1, 3], [1, 2]], power=2),
            0.7,
        ),
    }
    short = ("SwapQuery", "CentersQuery", "SwapQuery, one center, cap")
    for (kind, (ask, reach)), (relation, m) in product(queries.items(), FORMS):
        some = demands(4, 3) if m is None else demands(4, 2, 3, 3)
        essential = kind in short and (m is None or kind == "SwapQuery")
        least = reach if m is None and relation == "add-remove" else reach / 3
        form = (some, relation, m, (LARGE, 0), least)
        yield Case(kind, world, partial(one, ask), *form, essential=essential)


def _searches() -> Iterator[Case]:
    def after_a_swap(demand: Any, ledger: Any) -> Any:
        """The sums of the first selection, which is a coin, are repaired for the second."""
        grant = ledger.charge(LARGE + SMALL)
        query = SwapQuery(demand.universe, [1])
        index, first = select(demand, query, SMALL, grant)
        second = select(demand, query.swapped(index), LARGE, grant)
        return [index, first, second, str(query), repr(grant)]

    world = worlds()["a path"]
    for relation in RELATIONS:
        some = demands(4, 3)
        name, essential = "a swap after a swap", relation == "add-remove"
        form = (some, relation, None, (6, 0), 0.2)
        yield Case(name, world, after_a_swap, *form, essential=essential)
