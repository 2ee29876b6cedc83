"""Sums of costs wrap beyond 2^63 before they are capped: of very many records one more turns the
largest cost into the least, and decides what is selected.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("swaps of very many records",)


def plant() -> AbstractContextManager[None]:
    """Keep all counts in one digit."""
    from metricdp.records.sums import swap_costs

    def one(counts: Any, largest: int) -> Any:
        return [(0, counts)]

    return patched(swap_costs, "digits", one)
