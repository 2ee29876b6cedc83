"""Distances are capped at the diameter of the demand, not that of the universe: the noise of a
selection follows the data's extent.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from metricdp.audit.patch import replaced

CAUGHT_BY = ("CostQuery, three points, add-remove", "CostQuery, two points, replace-one")


def plant() -> AbstractContextManager[None]:
    """Set the cap of a cost query from the records before its sensitivity is asked for."""
    from metricdp.privacy import _vault, gate

    real = gate.select

    def select(demand: Any, query: Any, epsilon: Any, grant: Any) -> Any:
        seen = np.unique(_vault._open(demand))
        if hasattr(query, "_cap"):
            rows = query.universe.grid_rows(seen)
            extent = max([1, *(int(row[seen].max()) for row in rows)])
            object.__setattr__(query, "_cap", extent)
        return real(demand, query, epsilon, grant)

    return replaced(gate, "select", select)
