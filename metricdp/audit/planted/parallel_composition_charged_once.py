"""A split in disjoint parts is charged one part's epsilon although a user has records in m of them."""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("split, any mechanism, two points, add-remove, users of 2",)


def plant() -> AbstractContextManager[None]:
    """Charge the dearest part only."""
    from metricdp.privacy import gate

    return rewritten(gate, "split", "[: demand.max_contributions]", "[:1]")
