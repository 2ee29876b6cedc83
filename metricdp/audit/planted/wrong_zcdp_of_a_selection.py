"""A selection is charged epsilon²/16 of rho, half of what its bounded range proves: pools buy too
many.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("selections until a pool is spent, two points, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Halve the price."""
    from metricdp.accounting import Cost

    return rewritten(Cost, "selection", "asked**2 / 8", "asked**2 / 16")
