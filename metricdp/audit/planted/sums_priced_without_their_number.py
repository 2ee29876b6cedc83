"""The noise of sums after removals follows from the sums alone: what a record adds to their number,
in the same answer, is not counted.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("sums after removals, a box, add-remove",)


def plant() -> AbstractContextManager[None]:
    """State the sensitivity of the sums."""
    from metricdp.privacy.balls import PeeledSums

    def sensitivity(self: Any, neighboring: Any, max_contributions: int) -> int:
        sides = 1 if neighboring == "add-remove" else 2
        return int(sides * max_contributions * 2**self.bits)

    return patched(PeeledSums, "sensitivity", sensitivity)
