"""Under replace-one a record leaves one part and joins another; a split is charged for one of
them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "split, any mechanism, two points, replace-one",
    "split, counts, two points, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Charge both relations alike."""
    from metricdp.privacy import gate

    real = gate._split_price
    return patched(gate, "_split_price", lambda shares, m, n: real(shares, m, "add-remove"))
