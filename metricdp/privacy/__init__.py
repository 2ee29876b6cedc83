"""The gate: the only package that reads private data. To audit it, read queries, noise, scores,
selection, gate, demand.

A ledger pays for a call. `measure`, `select` and `cover` check public facts, draw their cost from
the budget slice, read the vault, and release noisy integers or selected candidates with a receipt.
`contribute` releases one holder's counts and share of noise under a mask.
"""

from metricdp.accounting import (
    Budget,
    BudgetSlice,
    Charge,
    Cost,
    Ledger,
    Quote,
    ZCDPAccountant,
    exact,
    selection_epsilon,
    selections,
)
from metricdp.privacy.demand import PrivateDemand
from metricdp.privacy.evaluation import PrivateDataWarning, exact_cost
from metricdp.privacy.gate import (
    contribute,
    cover,
    mapped,
    measure,
    moved,
    preaggregated,
    select,
    split,
    subsampled,
)
from metricdp.privacy.queries import CountQuery, HistogramQuery, LevelsQuery, Query, SumsQuery
from metricdp.privacy.scores import CostQuery, CoverageQuery, CoverQuery, SelectionQuery
from metricdp.privacy.swaps import CentersQuery, SwapQuery
from metricdp.protocols import Partition

__all__ = ["Budget", "BudgetSlice", "CentersQuery", "Charge", "Cost", "CostQuery", "CountQuery"]
__all__ += ["CoverQuery", "CoverageQuery", "HistogramQuery", "Ledger", "LevelsQuery"]
__all__ += ["Partition", "PrivateDataWarning", "PrivateDemand", "Query", "Quote"]
__all__ += ["SelectionQuery", "SumsQuery", "SwapQuery", "ZCDPAccountant", "contribute", "cover"]
__all__ += ["exact", "exact_cost", "mapped", "measure", "moved", "preaggregated"]
__all__ += ["select", "selection_epsilon", "selections", "split", "subsampled"]
