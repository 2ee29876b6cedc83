"""A selection is charged epsilon²/16 of rho, half of what its bounded range proves: pools buy too
many.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

from metricdp.audit.patch import patched

CAUGHT_BY = ("selections until a pool is spent, two points, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Halve the price."""
    from metricdp.accounting import Cost

    real = Cost.selection

    def selection(epsilon: object) -> Cost:
        cost = real(epsilon)
        return replace(cost, rho=cost.epsilon**2 / 16)

    return patched(Cost, "selection", staticmethod(selection))
