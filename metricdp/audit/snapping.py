"""Records that lie too far from the universe are left out (`max_snap`), held to exact laws.

Each record's fate is its own alone, so under add-remove all claims stand. Under replace-one how
many are left is no public fact, which that relation takes for granted: it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.audit.exact import Case
from metricdp.audit.worlds import FORMS, demands, finest, worlds
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand, measure

EPSILON = Fraction(7, 10)


def snap_cases() -> Iterator[Case]:
    """All cases."""
    line = worlds()["a line"]
    for relation, m in FORMS:
        refused = relation == "replace-one"
        form = (demands(3, 2, m or 1), relation, m, (2, 0), 0.0 if refused else 0.5)
        call, name = _number_and_counts, "from_coordinates, max_snap"
        yield Case(name, line, call, *form, refused=refused, hold=_near, essential=m is None)


def _near(universe: Any, records: Sequence[Any], users: Any, m: int | None) -> Any:
    """The third place lies too far from the line."""
    points = np.array([[dict(zip("xyz", (0.0, 1.0, 99.0)))[r]] for r in records]).reshape(-1, 1)
    kept = {"user": users, "max_contributions": m}
    return PrivateDemand.from_coordinates(universe, points, max_snap=0.3, **kept)


def _number_and_counts(demand: Any, ledger: Any) -> Any:

    counts = HistogramQuery(finest(demand.universe))
    return [measure(demand, q, EPSILON, ledger.charge(EPSILON)) for q in (CountQuery(), counts)]
