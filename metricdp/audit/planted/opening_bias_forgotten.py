"""Cells are opened without the bias of their depth: every level tells one noise scale's worth,
however many there are.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("openings, add-remove", "openings, replace-one")


def plant() -> AbstractContextManager[None]:
    """Count what is there, deep down too."""
    from metricdp.privacy.opening import OpeningQuery

    return rewritten(OpeningQuery, "opened", "[new] - bias * cells.level[at]", "[new]")
