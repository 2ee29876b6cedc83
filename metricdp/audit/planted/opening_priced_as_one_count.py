"""The noise of PrivTree's decisions is that of a single count, as if only one of them could
tell.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = ("openings, add-remove", "openings, add-remove, users of 3")


def plant() -> AbstractContextManager[None]:
    """Leave out the factor."""
    from metricdp.privacy.opening import OpeningQuery

    return patched(OpeningQuery, "sensitivity", lambda self, n, m: self.sensitivity_of(n, m))
