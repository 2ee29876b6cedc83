"""A pool charges a selection epsilon²/8 of rho, the price of bounded range, but draws it by
permute-and-flip, which costs epsilon²/2.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "selections until a pool is spent, two points, add-remove",
    "4 selections from a pool, two points, add-remove",
)


def plant() -> AbstractContextManager[None]:
    """Select by permute-and-flip whatever pays for it."""
    from metricdp.privacy import gate

    return rewritten(
        gate,
        "select",
        '"exponential mechanism" if pooled else "permute-and-flip"',
        '"permute-and-flip"',
    )
