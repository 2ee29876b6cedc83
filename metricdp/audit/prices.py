"""A refused call costs nothing, and a query cannot change once its price is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from metricdp import METHODS, EuclideanMetric, EuclideanSpace, PrivateDemand, k_means, methods
from metricdp.accounting import Ledger
from metricdp.audit.exact import Case
from metricdp.audit.report import Check, Finding, weighed
from metricdp.audit.worlds import PRICE, UnitCells, asked, demands, small_nets, worlds
from metricdp.errors import MetricDPError
from metricdp.methods import Method
from metricdp.privacy import HistogramQuery, SumsQuery

CHECK = "call by call"
NAME = "refused calls cost nothing"
PRICES = ((1, "1e-6"), (2, 0), ("1e-9", 0))
"""With a delta, without one, and less than the noise of most methods can be had for."""


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


def price_checks() -> Iterator[Check]:
    """The check."""
    yield Check.of(NAME, True, refusals)


def refusals(name: str, quick: bool, kinds: Iterable[str | Method] = METHODS) -> Finding:
    """All methods: an answer at no more than the price, or nothing charged."""
    burnt = []
    asked = 0
    answers = 0
    worst = 0.0
    for ask, what, (epsilon, delta) in _calls(kinds):
        ledger = Ledger(10, "1e-3")
        asked = asked + 1
        try:
            ask(ledger, epsilon, delta)
            answers += 1
            worst = max(worst, ledger.spent / Fraction(epsilon))
        except MetricDPError:
            if ledger.entries:
                burnt.append(f"{what} at ε {epsilon}, δ {delta}")
                if len(burnt) == 3:
                    break
    found = f"{answers} answers, {asked - answers} refusals"
    if burnt:
        found, worst = f"charged and refused: {'; '.join(burnt)}", math.inf
    claim = "0 charged by a refused call, the price at most by an answered one"
    return weighed(name, claim, found, CHECK, float(worst), 2 * answers < asked)


def _calls(
    kinds: Iterable[str | Method],
) -> Iterator[tuple[Callable[[Any, Any, Any], Any], str, tuple[Any, Any]]]:
    """What is asked, its name and its price."""
    points = [[i / 8, (5 * i % 9) / 8, (7 * i % 9) / 8, i % 2] for i in range(9)]
    few = EuclideanMetric(points), EuclideanSpace([0.0] * 4, [1.0] * 4)
    for method in kinds:
        kind: Any = methods.BY_NAME[method] if isinstance(method, str) else method
        for universe, there in zip(few, (kind.in_finite, kind.in_space)):
            if not there:
                continue
            demand = PrivateDemand(universe, range(9) if universe is few[0] else points)
            for price in PRICES:
                yield partial(_ask, demand, method), f"{kind.name} in {universe.name}", price


def _ask(demand: Any, method: Any, ledger: Ledger, epsilon: Any, delta: Any) -> None:
    paid: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "ledger": ledger}
    with small_nets():
        k_means(demand.universe, demand, 2, **paid, method=method, seed=0)
