"""The exact answer stays on the object that is returned, out of sight of its repr, and is published
with the first pickle.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove",
    "k_median, partition, two points, add-remove",
)


def plant() -> AbstractContextManager[None]:
    """Keep the exact answer on the query, which the release holds."""
    from metricdp.privacy import gate

    real = gate.answered

    def answered(query: Any, records: Any) -> Any:
        answer = real(query, records)
        object.__setattr__(query, "answer", answer)
        return answer

    return patched(gate, "answered", answered)
