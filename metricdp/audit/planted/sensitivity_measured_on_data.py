"""Noise for the largest change that this very demand can undergo (its local sensitivity), not for
that of any demand.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from metricdp.audit.patch import patched, replaced

CAUGHT_BY = ("CostQuery, two points, add-remove", "CostQuery, three points, replace-one")


def plant() -> AbstractContextManager[None]:
    """Measure the range of the scores on the records."""
    from metricdp.privacy import _vault, gate

    real = gate.select

    def select(demand: Any, query: Any, epsilon: Any, grant: Any) -> Any:
        scores = [*query.blocks(_vault._open(demand))]
        spread = max(1, *(int(np.ptp(block)) for block in scores), 1)
        with patched(type(query), "range", lambda self, neighboring, m: spread):
            return real(demand, query, epsilon, grant)

    return replaced(gate, "select", select)
