"""Users with one unit of weight each over all their records: exact laws, with few grains a user, so
that answers stay small.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from metricdp.audit.exact import Case, Chance
from metricdp.audit.patch import patched
from metricdp.audit.worlds import RELATIONS, UnitCells, demands, finest, worlds

FEW = 4
"""Grains of a user."""


def sharing_cases() -> Iterator[tuple[Case, bool]]:
    """Histograms and counts of demand with shares, on points and in a box."""
    from metricdp.privacy import CountQuery, HistogramQuery, LevelsQuery

    nothing_drawn = Chance(lambda demand: [()], lambda outcome, n_bytes: os.urandom(n_bytes))
    for name in ("two points", "a box"):
        world = worlds()[name]
        fine = HistogramQuery(
            UnitCells(world.universe) if name == "a box" else finest(world.universe)
        )
        queries: dict[str, Any] = {"HistogramQuery": fine, "CountQuery": CountQuery()}
        if name == "two points":
            queries["LevelsQuery"] = LevelsQuery((fine, fine))
        for kind, query in queries.items():
            for relation in RELATIONS:
                # all users have one whole: under replace-one their number does not move
                reach = 0.0 if kind == "CountQuery" and relation == "replace-one" else 0.999
                yield (
                    Case(
                        f"{kind}, shares",
                        world,
                        partial(_asked, query),
                        demands(2, 2, 3),
                        relation,
                        1,
                        (2, 0),
                        reach,
                        hold=_held,
                        chance=nothing_drawn,
                    ),
                    kind == "HistogramQuery",
                )


def _held(universe: Any, records: Any, users: Any, m: Any) -> Any:
    from metricdp.privacy import PrivateDemand

    with _few():
        return PrivateDemand(universe, records, user=users, weighting="share")


def _asked(query: Any, demand: Any, ledger: Any) -> Any:
    from metricdp.privacy import measure

    with _few():
        return measure(demand, query, 1, ledger.charge(1))


def _few() -> Any:
    from metricdp.records.engines import weighting

    return patched(weighting, "WHOLE", FEW)
