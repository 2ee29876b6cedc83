"""Demand that is moved to another universe forgets that its users keep several records."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "moved, counts, a box, add-remove, users of 2",
    "moved, counts, a box, replace-one, users of 2",
)


def plant() -> AbstractContextManager[None]:
    """Place the moved records as if each were a unit."""
    from metricdp.privacy import PrivateDemand

    real = PrivateDemand._restricted

    def restricted(self: Any, records: Any, universe: Any = None) -> Any:
        demand = real(self, records, universe)
        if universe is not None:
            demand._protects = demand.protects._replace(max_contributions=1)
        return demand

    return patched(PrivateDemand, "_restricted", restricted)
