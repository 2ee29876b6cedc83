"""A pool charges a selection epsilon²/8 of rho, the price of bounded range, but draws it by
permute-and-flip, which costs epsilon²/2.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "selections until a pool is spent, two points, add-remove",
    "4 selections from a pool, two points, add-remove",
)


def plant() -> AbstractContextManager[None]:
    """Select by permute-and-flip whatever pays for it."""
    from metricdp.privacy import gate

    real = gate._selected

    def selected(demand: Any, query: Any, eta: Any, law: Any, grant: Any) -> int:
        return real(demand, query, eta, "permute-and-flip", grant)

    return patched(gate, "_selected", selected)
