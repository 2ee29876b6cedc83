"""How many records a ball takes follows from how many there are, not from a released number: the
one record more makes it one more.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("balls after removals, a box, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Remove half of what is left."""
    from metricdp.records.sums import peeling

    real = peeling.peel

    def peel(counts: Any, grid: Any, cell: int, number: float) -> None:
        real(counts, grid, cell, (counts.sum() + 1) // 2)

    return patched(peeling, "peel", peel)
