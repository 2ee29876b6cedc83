"""Rounds of small balls: exact distributions of radii, balls and RecConcave's steps."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from metricdp.audit.exact import Case
from metricdp.audit.worlds import FORMS, demands, worlds

LARGE = Fraction(4)


def round_cases() -> Iterator[Case]:
    """In a box of three cells, where a removal can leave few records of a cell."""
    yield from _single()
    yield from _sums()


def _single() -> Iterator[Case]:
    from benchmarks.methods.ball_counts import BallScores
    from benchmarks.methods.grid import Grid
    from benchmarks.methods.peeling import (
        Intervals,
        Levels,
        Only,
        PartScores,
        Peeled,
        PeeledQuery,
        RadiusScores,
    )

    world = worlds()["a box"]
    grid = Grid(world.universe, 3)
    fine = Grid(world.universe, 24)
    views: dict[str, tuple[Any, ...]] = {
        "intervals": (Intervals(8, 4),),
        "two steps": (Levels(1, 3), Only((0, 3))),
    }
    removed = ((0, 1), (0, 1))
    parts = PartScores((3,), (np.array([0, 1, 1]), np.array([-1, 0, 1])), (2, 2))
    queries: dict[str, tuple[Any, float]] = {
        "balls": (PeeledQuery(Peeled(grid), BallScores((3,), 0)), 0.7),
        "balls after removals": (PeeledQuery(Peeled(grid, removed), BallScores((3,), 0)), 0.7),
        "parts after removals": (PeeledQuery(Peeled(grid, removed[:1]), parts), 0.7),
        "radii after removals": (
            PeeledQuery(Peeled(grid, removed[:1]), RadiusScores((3,), (0, 1, 2), 2)),
            0.55,
        ),
        "radii by averages": (
            PeeledQuery(Peeled(grid, removed[:1]), RadiusScores((3,), (0, 1, 2), 2, 2, True)),
            0.2,
        ),
        **{
            f"RecConcave, {name}": (
                PeeledQuery(Peeled(fine), RadiusScores((24,), tuple(range(24)), 2, 2, True, view)),
                0.1,
            )
            for name, view in views.items()
        },
    }

    def one(query: Any, demand: Any, ledger: Any) -> Any:
        from metricdp.privacy import select

        return [*select(demand, query, LARGE, ledger.charge(LARGE)), str(query)]

    for (kind, (query, reach)), (relation, m) in product(queries.items(), FORMS):
        some = demands(3, 5 if reach > 0.5 else 3) if m is None else demands(3, 2, 3, 4)
        least = reach / (1 if relation == "add-remove" and m is None else 3)
        form = (some, relation, m, (LARGE, 0), least)
        essential = m is None and "after" in kind
        yield Case(kind, world, partial(one, query), *form, essential=essential)


def _sums() -> Iterator[Case]:
    """Number and sum of what is left in two of the cells."""
    from benchmarks.methods.grid import Grid
    from benchmarks.methods.peeling import Peeled, PeeledSums

    world = worlds()["a box"]
    cells, offsets = np.array([1, 2]), np.array([[2], [-2]])
    query = PeeledSums(Peeled(Grid(world.universe, 3), ((0, 1),)), cells, offsets, bits=1)

    def one(price: Any, demand: Any, ledger: Any) -> Any:
        from metricdp.privacy import measure

        return [measure(demand, query, price, ledger.charge(price)), str(query)]

    name = "sums after removals"
    for relation, m in FORMS:
        some = demands(3, 3) if m is None else demands(3, 2, 2)
        reach = 0.999 if relation == "add-remove" or m is None else 0.7
        form = (some, relation, m, (LARGE, 0), reach)
        yield Case(name, world, partial(one, LARGE), *form, essential=m is None)
