"""All records within the radius of the last one to remove go, not just so many: one record more can
bring back a whole cell of others.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = ("balls after removals, a box, add-remove", "balls after removals, a box, replace-one")


def plant() -> AbstractContextManager[None]:
    """Take a cell whole once its first record is taken."""
    from metricdp.records.sums import peeling

    return patched(peeling, "taken", lambda there, before, number: there * (before < number))
