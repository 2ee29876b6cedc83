"""Queries are plain objects whose attributes can be set: what a query counts may change between the
price that was asked of it and its answer, and the noise is that of another query.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = ("a query changed after its price, a box, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Let attributes be set."""
    from metricdp.privacy import SumsQuery

    return patched(SumsQuery, "__setattr__", object.__setattr__)
