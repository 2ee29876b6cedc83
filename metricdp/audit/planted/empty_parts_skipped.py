"""Parts without records are left out of the histogram, as a dictionary of counts would do: which
parts appear tells who is there.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove",
    "k_median, partition, two points, add-remove",
    "HistogramQuery, black box",
)


def plant() -> AbstractContextManager[None]:
    """Return the counts of parts that hold records only."""
    from metricdp.privacy import HistogramQuery, gate

    real = gate.answered

    def answered(query: Any, records: Any) -> Any:
        counts = real(query, records)
        return counts[counts > 0] if type(query) is HistogramQuery else counts

    return patched(gate, "answered", answered)
