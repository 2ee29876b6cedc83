"""Distances are clipped at the farthest record's rather than at a public bound, so that all amounts
shrink with it.
"""

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("TotalsQuery, a box, add-remove", "TotalsQuery, a box, replace-one")


def plant() -> AbstractContextManager[None]:
    """Let the records say what the largest amount is."""
    from metricdp.privacy.totals import TotalsQuery

    honest = TotalsQuery.exact

    def exact(self: Any, records: Any) -> Any:
        sums = honest(self, records)
        most = max(1, int(records.max(initial=0.0))) if len(records) else 1
        return sums * 3 // most

    return patched(TotalsQuery, "exact", exact)
