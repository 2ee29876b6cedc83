"""Noise follows the caps' L2 sensitivity in every histogram, also where a part spans several areas
of the caps, whose records then add up in one count.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = ("caps of 2 parts, a coarser histogram, two points, add-remove, users of 2",)


def plant() -> AbstractContextManager[None]:
    """Take every histogram for a finer one."""
    from metricdp.privacy.caps import Capped

    return patched(Capped, "refined", lambda self, query: True)
