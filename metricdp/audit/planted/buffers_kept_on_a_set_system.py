"""The buffers of a search stay on the public balls that were asked about private records: the last
record's neighborhood is in the caller's hands, and in the next pickle.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("CoverQuery, balls, a path, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Keep what the sums were asked about."""
    from metricdp.privacy import coverage

    real = coverage.add_sums

    def add_sums(sets: Any, total: Any, elements: Any, amounts: Any) -> None:
        object.__setattr__(sets, "_work", elements.copy())
        real(sets, total, elements, amounts)

    return patched(coverage, "add_sums", add_sums)
