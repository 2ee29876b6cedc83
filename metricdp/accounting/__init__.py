"""What a guarantee costs, and who keeps count: exact arithmetic on public numbers. Nothing here can
reach private data.

`binding` says what a ledger is about, `cost` prices mechanisms and their composition, `ledger`
spends budgets, `journal` keeps a ledger on disk.
"""

from metricdp.accounting.binding import Protection
from metricdp.accounting.cost import (
    Cost,
    exact,
    selection_epsilon,
    selections,
    zcdp_epsilon,
    zcdp_rho,
)
from metricdp.accounting.journal import stated_budget
from metricdp.accounting.ledger import Budget, Charge, Grant, Ledger, Pool, Quote

__all__ = [
    "Budget",
    "Charge",
    "Cost",
    "Grant",
    "Ledger",
    "Pool",
    "Protection",
    "Quote",
    "exact",
    "selection_epsilon",
    "selections",
]
__all__ += ["stated_budget", "zcdp_epsilon", "zcdp_rho"]
