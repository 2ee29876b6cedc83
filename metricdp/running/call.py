"""Arguments of `k_median` and `k_means` that only private calls use, as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from metricdp.arguments import Amount
from metricdp.options import Weights

if TYPE_CHECKING:
    from metricdp.methods.expected import Expectation
    from metricdp.methods.method import Method
    from metricdp.privacy import Budget, PrivateDemand


class Call(NamedTuple):
    """Demand, budget, ledger and method of a call; `budget`: (epsilon, delta)."""

    demand: PrivateDemand | None
    budget: tuple[Amount | None, Amount]
    ledger: Budget | None
    method: str | Method
    records_hint: float | None
    expected: Expectation | None
    weights: Weights | None
