"""A record that a selected set holds goes on counting: the same record pays for many selections, at
the price of one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "covering loop, whole-loop bound, add-remove",
    "covering loop, whole-loop bound, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Never take anything off the demand that is left."""
    from metricdp.privacy import coverage

    return patched(coverage, "leave", lambda left, covered: None)
