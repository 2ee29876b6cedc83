"""Each record of a user gets its share of one unit of weight rounded up, so that users of many
records have more than one unit, for which the noise was made.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "HistogramQuery, shares, two points, add-remove, users of 1",
    "HistogramQuery, shares, a box, add-remove, users of 1",
)


def plant() -> AbstractContextManager[None]:
    """Round up."""
    from metricdp.records.engines import weighting

    def rounded_up(before: Any, count: Any, of: Any) -> Any:
        return -(-weighting.WHOLE * count // of)

    return patched(weighting, "floors", rounded_up)
