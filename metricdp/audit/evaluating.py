"""Sums of amounts, of which private evaluation is made, held to their exact law."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.audit.exact import Case
from metricdp.audit.worlds import RELATIONS, demands, worlds

EPSILON = Fraction(7, 10)


@dataclass(frozen=True, eq=False)
class TwoEnds:
    """The box [0, 3]: how much of 8 is near its right end, and how much near its left."""

    universe: Any
    n_values: int = 2

    def amounts(self, records: NDArray[Any]) -> NDArray[np.int64]:
        """Shape (n, 2), 8 together."""
        right = np.floor(records[:, 0] * (8 / 3)).astype(np.int64)
        return np.stack([8 - right, right], axis=1)


@dataclass(frozen=True, eq=False)
class Heavy:
    """Points of a finite universe with the amounts -8, 9 (beyond the bound, so none), 8."""

    universe: Any
    n_values: int = 1

    def amounts(self, records: NDArray[Any]) -> NDArray[np.int64]:
        """Shape (n, 1)."""
        return np.array([-8, 9, 8])[records][:, None]


def evaluation_cases() -> Iterator[tuple[Case, bool]]:
    """Cases, and whether each is in the short form too."""
    from metricdp.privacy import measure
    from metricdp.privacy.totals import TotalsQuery

    box, three = (worlds()[name] for name in ("a box", "three points"))
    queries = {
        "TotalsQuery": (box, TotalsQuery(TwoEnds(box.universe), bits=3)),
        "TotalsQuery beyond the bound": (three, TotalsQuery(Heavy(three.universe), bits=3)),
    }
    for name, (world, query) in queries.items():
        for relation in RELATIONS:
            for m in (None, 2):

                def sums(demand: Any, ledger: Any, query: Any = query) -> Any:
                    return measure(demand, query, EPSILON, ledger.charge(EPSILON))

                some = demands(len(world.places), 2, 1 if m is None else 2)
                yield Case(name, world, sums, some, relation, m, reach=0.6), m is None
