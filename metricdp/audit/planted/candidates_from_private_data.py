"""Only points where somebody is are candidates, as k-medoids on the records would have it: what is
selected is a record.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from metricdp.audit.patch import patched

CAUGHT_BY = ("CoverageQuery, two points, add-remove", "CostQuery, two points, replace-one")


def plant() -> AbstractContextManager[None]:
    """Let only the distinct records race."""
    from metricdp.privacy import _vault, gate

    def selected(demand: Any, query: Any, eta: Any, law: Any, grant: Any) -> int:
        records = _vault._open(demand)
        at = np.unique(records) if len(records) else np.arange(1)
        scores = np.concatenate(list(query.blocks(records)))[at]
        return int(at[gate.choose([scores], eta, law)])

    return patched(gate, "_selected", selected)
