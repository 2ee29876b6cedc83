"""The rho that (epsilon, delta) pays for is taken to be epsilon²/2, as for pure privacy and in the
wrong direction: delta is ignored.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "HistogramQuery, Gaussian, two points, add-remove",
    "HistogramQuery, Gaussian, black box",
)


def plant() -> AbstractContextManager[None]:
    """Forget the logarithm of delta."""
    from metricdp.accounting import cost

    return rewritten(
        cost,
        "zcdp_rho",
        "rho = -_up(-(epsilon - _overhead(order, delta)) / order)",
        "rho = epsilon**2 / 2",
    )
