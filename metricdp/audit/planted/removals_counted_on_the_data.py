"""How many records a ball takes follows from how many there are, not from a released number: the
one record more makes it one more.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("balls after removals, a box, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Remove half of what is left."""
    from metricdp.records.sums.peeling import Peeled

    return rewritten(
        Peeled, "left", "self.grid, cell, number)", "self.grid, cell, (left.sum() + 1) // 2)"
    )
