"""A query cannot change once its price is known, nor a partition by what it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from metricdp.accounting import Ledger
from metricdp.audit.exact import Case
from metricdp.audit.worlds import PRICE, UnitCells, asked, demands, worlds
from metricdp.privacy import HistogramQuery, PrivateDemand, SumsQuery


def price_cases() -> Iterator[Case]:
    """A query whose own partition tries to become finer while it is answered."""

    def ask(demand: PrivateDemand, ledger: Ledger) -> Any:
        class Cells(UnitCells):
            def encode(self, records: Any) -> Any:
                for query in made:
                    with suppress(AttributeError):
                        query.bits = 5
                return super().encode(records)

        made: list[Any] = []
        query = SumsQuery(HistogramQuery(Cells(demand.universe)), bits=3)
        made.append(query)
        return asked(query, PRICE, demand, ledger)

    box = worlds()["a box"]
    some = demands(len(box.places), 2)
    case = partial(Case, world=box, demands=some, relation="add-remove", essential=True)
    kept = partial(HistogramQuery, Keeping(box.universe))
    yield case("a query changed after its price", call=ask, reach=0.8)
    yield case("a partition that keeps records", call=partial(asked, kept, PRICE))


@dataclass(eq=False)
class Keeping:
    """A caller's partition that keeps what it is asked, and reads the next records by it."""

    universe: Any
    n_parts: int = 3
    seen: int = 0

    def encode(self, records: Any) -> Any:
        """Cell of each point, moved on by what was asked before."""
        before = self.seen
        self.seen += len(records)
        return (UnitCells(self.universe).encode(records) + before) % 3
