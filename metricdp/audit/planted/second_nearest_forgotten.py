"""The range of a swap's scores is taken from the distances to the nearest center, but the nearest
is what a swap may take away.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("SwapQuery, a path, add-remove", "SwapQuery, a path, replace-one")


def plant() -> AbstractContextManager[None]:
    """Ask for the farthest point from its nearest center, not from its second-nearest."""
    from metricdp.privacy import SwapQuery

    return rewritten(SwapQuery, "_ask", "self._served.far.max(", "self._served.near.max(")
