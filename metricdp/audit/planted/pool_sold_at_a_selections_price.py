"""A pool sells a grant of pure epsilon for the epsilon²/8 of a selection, and other mechanisms of
epsilon²/2 are paid with it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = ("any mechanism, until a pool is spent, two points, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Believe the rho that the buyer states."""
    from metricdp.accounting import budget

    return patched(budget, "_for_any", lambda cost: cost)
