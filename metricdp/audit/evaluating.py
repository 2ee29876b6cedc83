"""Sums of amounts, of which private evaluation is made, held to their exact law."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.audit.exact import Case
from metricdp.audit.worlds import FORMS, demands, worlds
from metricdp.privacy import measure
from metricdp.privacy.totals import TotalsQuery

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


def evaluation_cases() -> Iterator[Case]:
    """All cases."""
    box, three = (worlds()[name] for name in ("a box", "three points"))
    queries = {
        "TotalsQuery": (box, TotalsQuery(TwoEnds(box.universe), bits=3)),
        "TotalsQuery beyond the bound": (three, TotalsQuery(Heavy(three.universe), bits=3)),
    }

    def sums(query: Any, demand: Any, ledger: Any) -> Any:
        return measure(demand, query, EPSILON, ledger.charge(EPSILON))

    for (name, (world, query)), (relation, m) in product(queries.items(), FORMS):
        some = demands(len(world.places), 2, m or 1)
        call = partial(sums, query)
        yield Case(name, world, call, some, relation, m, reach=0.6, essential=m is None)
