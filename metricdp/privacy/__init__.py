"""The gate: the only package that reads private data. To audit it, read queries, noise, gate, demand, ledger, journal.

`Ledger.charge` pays for a call; `gate.measure` checks what is public, draws its piece from the grant, opens the vault,
and lets out noisy integers with a receipt.
"""

from metricdp.privacy.demand import PrivateDemand
from metricdp.privacy.evaluation import PrivateDataWarning, exact_cost
from metricdp.privacy.gate import measure
from metricdp.privacy.ledger import Charge, Grant, Ledger, Quote, exact
from metricdp.privacy.queries import CountQuery, HistogramQuery, Partition, Query

__all__ = ["Charge", "CountQuery", "Grant", "HistogramQuery", "Ledger", "Partition", "PrivateDataWarning"]
__all__ += ["PrivateDemand", "Query", "Quote", "exact", "exact_cost", "measure"]
