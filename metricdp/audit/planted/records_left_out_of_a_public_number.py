"""Records that lie too far away are left out under replace-one as well, whose proofs take the
number of records for public: it is told exactly, and tells how many were near.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = ("from_coordinates, max_snap, a line, replace-one",)


def plant() -> AbstractContextManager[None]:
    """Let any ledger pay for a demand that leaves records out."""
    from metricdp.privacy import PrivateDemand

    return patched(PrivateDemand, "_check_relation", lambda self, neighboring: None)
