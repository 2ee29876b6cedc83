"""The rho that (epsilon, delta) pays for is taken to be epsilon²/2, as for pure privacy and in the
wrong direction: delta is ignored.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import replaced

CAUGHT_BY = (
    "HistogramQuery, Gaussian, two points, add-remove",
    "HistogramQuery, Gaussian, black box",
)


def plant() -> AbstractContextManager[None]:
    """Forget the logarithm of delta."""
    from metricdp.accounting import cost

    return replaced(cost, "zcdp_rho", lambda epsilon, delta: epsilon**2 / 2)
