"""Amounts beyond the stated bound are added as they are, so that one record adds more than it
may.
"""

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "TotalsQuery beyond the bound, three points, add-remove",
    "TotalsQuery beyond the bound, three points, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Take the bound for granted."""
    import numpy as np

    from metricdp.privacy.totals import TotalsQuery

    def exact(self: Any, records: Any) -> Any:
        return self.measured.amounts(np.asarray(records)).sum(axis=0)

    return patched(TotalsQuery, "exact", exact)
