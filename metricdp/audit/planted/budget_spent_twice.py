"""A grant checks whether a piece fits, but does not count it: the next piece fits again, and a call
spends more than it paid.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "a grant spent in pieces, two points, add-remove",
    "k_median, partition, two points, add-remove",
)


def plant() -> AbstractContextManager[None]:
    """Let `Grant.draw` look, and not count."""
    from metricdp.accounting import Cost, Grant

    def draw(self: Any, epsilon: object, delta: object = 0) -> None:
        self._require(Cost.of(epsilon, delta))

    return patched(Grant, "draw", draw)
