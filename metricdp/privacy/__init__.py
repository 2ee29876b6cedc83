"""The gate: the only package that reads private data. To audit it, read queries, noise, selections, selection, gate, demand.

`Ledger.charge` (`metricdp.accounting`) pays for a call; `measure` and `select` check what is public, draw their piece from the
grant, open the vault, and let out noisy integers, or the position of one candidate, with a receipt.
"""

from metricdp.accounting import Budget, Charge, Cost, Grant, Ledger, Pool, Quote, exact, selection_epsilon, selections
from metricdp.privacy.demand import PrivateDemand
from metricdp.privacy.evaluation import PrivateDataWarning, exact_cost
from metricdp.privacy.gate import measure, select, split
from metricdp.privacy.queries import CountQuery, HistogramQuery, LevelsQuery, Partition, Query
from metricdp.privacy.scores import CostQuery, CoverageQuery, SelectionQuery

__all__ = ["Budget", "Charge", "Cost", "CostQuery", "CountQuery", "CoverageQuery", "Grant", "HistogramQuery", "Ledger", "LevelsQuery"]
__all__ += ["Partition", "Pool", "PrivateDataWarning", "PrivateDemand", "Query", "Quote", "SelectionQuery", "exact"]
__all__ += ["exact_cost", "measure", "select", "selection_epsilon", "selections", "split"]
