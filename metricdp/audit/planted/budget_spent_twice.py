"""A grant checks whether a piece fits, but does not count it: the next piece fits again, and a call
spends more than it paid.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "a grant spent in pieces, two points, add-remove",
    "k_median, partition, two points, add-remove",
)


def plant() -> AbstractContextManager[None]:
    """Leave out the line of `Grant.draw` that counts."""
    from metricdp.accounting import Grant

    return rewritten(Grant, "draw", "self._take(piece)", "pass")
