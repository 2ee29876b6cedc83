"""Privacy costs of mechanisms, and ledgers: exact arithmetic on public numbers alone."""

from metricdp.accounting.binding import Protection
from metricdp.accounting.budget import Budget, BudgetSlice, ZCDPAccountant
from metricdp.accounting.cost import (
    Cost,
    exact,
    selection_epsilon,
    selections,
    zcdp_epsilon,
    zcdp_rho,
)
from metricdp.accounting.journal import stated_budget
from metricdp.accounting.ledger import Charge, Ledger, Quote

__all__ = ["Budget", "BudgetSlice", "Charge", "Cost", "Ledger", "Protection", "Quote"]
__all__ += ["ZCDPAccountant", "exact"]
__all__ += ["selection_epsilon", "selections", "stated_budget", "zcdp_epsilon", "zcdp_rho"]
