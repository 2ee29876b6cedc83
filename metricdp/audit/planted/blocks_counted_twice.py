"""Where records are counted by key, what an engine hands out twice is counted twice: every record
counts for two in all cells of a quadtree.
"""

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("openings, add-remove", "openings, add-remove, users of 3")


def plant() -> AbstractContextManager[None]:
    """Double the counts of a reading."""
    from metricdp.records.paths import Segment

    honest = Segment.counts

    def counts(self: Any, levels: Any, paths: Any) -> Any:
        return 2 * honest(self, levels, paths)

    return patched(Segment, "counts", counts)
