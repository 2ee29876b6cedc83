"""A split in disjoint parts is charged one part's epsilon although a user has records in m of
them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = ("split, any mechanism, two points, add-remove, users of 2",)


def plant() -> AbstractContextManager[None]:
    """Charge the dearest part only."""
    from metricdp.privacy import gate

    real = gate._split_price
    return patched(gate, "_split_price", lambda shares, m, relation: real(shares, 1, relation))
