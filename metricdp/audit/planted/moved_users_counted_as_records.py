"""Demand that is moved to another universe forgets that its users keep several records."""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "moved, counts, a box, add-remove, users of 2",
    "moved, counts, a box, replace-one, users of 2",
)


def plant() -> AbstractContextManager[None]:
    """Place the moved records as if each were a unit."""
    from metricdp.privacy import demand

    return rewritten(
        demand.PrivateDemand,
        "_restricted",
        "self._max_contributions",
        "(self._max_contributions if universe is None else 1)",
    )
