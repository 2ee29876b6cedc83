"""Counts of a quadtree's cells get noise for d·log2(n) levels, as a paper prints it; cut in middle
thirds, the tree has more of them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import replaced

CAUGHT_BY = (
    "k_median, quadtree by levels, a box, add-remove",
    "k_median, quadtree by levels, a box, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Give every level a d-th of epsilon, as if log2(n) were 1."""
    from metricdp.accounting import Cost, Grant
    from metricdp.partitions.box.quadtree import OpenedCells
    from metricdp.privacy import HistogramQuery, gate

    real = gate.measure

    def measure(demand: Any, query: Any, epsilon: Any, grant: Any, delta: Any = 0) -> Any:
        cells = getattr(query, "partition", None)
        if type(query) is not HistogramQuery or not isinstance(cells, OpenedCells):
            return real(demand, query, epsilon, grant, delta)
        share = grant.epsilon / cells.universe.dimension
        own = Grant(Cost.of(share), grant.neighboring, grant.scope)
        return real(demand, query, share, own)

    return replaced(gate, "measure", measure)
