"""Checks, prices and charges every call that spends a budget, before a record is read.

1. `Accountant` checks that demand, ledger and universe fit.
2. The method computes its *price* from public terms.
3. The method *confirms*, from public facts, that it can answer at that price.
4. The ledger is *charged* once, and returns the budget slice that the call may spend.

**Privacy.** Nothing here reads a record. A call that is refused leaves the ledger as it was.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, cast

from metricdp.accounting import Budget, BudgetSlice, Cost, Ledger
from metricdp.errors import InputError
from metricdp.methods.asking import Terms
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import PrivateDemand
from metricdp.protocols import space_of
from metricdp.releases import Neighboring
from metricdp.running.runner import terms_of

Price = Callable[[Terms], Cost]
"""The price of a call that may spend at most the price in these terms."""
Confirm = Callable[[Terms], None]
"""Raises InputError if, by public facts, a method cannot answer at a price."""


def check_private(demand: object) -> PrivateDemand:
    """The demand; raises InputError if it is not a `PrivateDemand`."""
    if isinstance(demand, Integral):
        raise InputError(
            f"the argument after the universe is the private demand: write k={demand:d} for the "
            f"number of centers"
        )
    if not isinstance(demand, PrivateDemand):
        raise InputError(
            f"demand must be a PrivateDemand, got {type(demand).__name__}: "
            f"mdp.PrivateDemand(metric, ids) makes one"
        )
    return demand


class Accountant:
    """A private demand, and the ledger to which calls on it are charged, both checked.

    `universe`: must be the demand's own object; `ledger`: by default a fresh one of what a call may
    spend.
    """

    def __init__(
        self, universe: Metric | EuclideanSpace, demand: PrivateDemand, ledger: Budget | None
    ) -> None:
        check_private(demand)
        if demand.universe is not universe:
            raise InputError(
                "the demand is of another universe: use the same metric object for both"
            )
        if ledger is not None and not isinstance(ledger, Budget):
            raise InputError(
                f"ledger must be a Ledger, got {type(ledger).__name__}: mdp.Ledger(epsilon=1.0) "
                f"makes one"
            )
        if demand.part is not (None if ledger is None else ledger.scope):
            raise InputError(
                "a part of a split demand is paid from the budget slice that split returned with "
                "it (ledger=), and nothing else is"
            )
        self.demand = demand
        self._ledger = ledger
        demand._check_relation(self.neighboring)

    @property
    def neighboring(self) -> Neighboring:
        """The neighboring relation of all guarantees charged here."""
        return "add-remove" if self._ledger is None else self._ledger.neighboring

    def charge(
        self, price: Price, confirm: Confirm, budgets: Sequence[tuple[Any, Any]], purpose: str
    ) -> BudgetSlice:
        """Charge one call, which may spend all `budgets`, once nothing else can be refused."""
        for budget in budgets:
            if budget[0] is None:
                raise InputError(
                    "private demand needs epsilon= (how much of the privacy budget this call may "
                    "spend)"
                )
        if self._ledger is not None:
            self._ledger.check(self.demand.protects)
        terms = terms_of(self.demand, self.neighboring)
        prices = [price(replace(terms, price=Cost.of(*budget))) for budget in budgets]
        for each in prices:
            if each.epsilon > 0:  # the ledger has the better message for epsilon <= 0
                confirm(replace(terms, price=each))
        total = prices[0]
        if len(prices) > 1:  # basic composition
            total = Cost.of(sum(p.epsilon for p in prices), sum(p.delta for p in prices))
        own = budgets[0] if len(budgets) == 1 else (total.epsilon, total.delta)
        ledger = Ledger(*own) if self._ledger is None else self._ledger
        return ledger.charge(total, purpose=purpose, protects=self.demand.protects)

    def nothing(self) -> BudgetSlice:
        """An empty budget slice, for methods that read no demand."""
        return BudgetSlice(Cost.of(0), self.neighboring, self.demand.part)


def checked_universe(universe: Any) -> Metric | EuclideanSpace:
    """The universe; raises InputError if it is not one."""
    return cast(Metric | EuclideanSpace, space_of(universe))
