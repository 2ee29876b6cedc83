"""Distances are capped at the diameter of the demand, not that of the universe: the noise of a
selection follows the data's extent.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("CostQuery, three points, add-remove", "CostQuery, two points, replace-one")


def plant() -> AbstractContextManager[None]:
    """Set the cap of a cost query from the records before its sensitivity is asked for."""
    from metricdp.privacy import gate

    old = "spread = query.range(grant.neighboring, demand.max_contributions)"
    seen = "seen = np.unique(_vault._open(demand))"
    extent = (
        "query._cap = max(1, *(int(row[seen].max()) for row in query.universe.grid_rows(seen)), "
        "1) if hasattr(query, '_cap') else 0"
    )
    return rewritten(gate, "select", old, "\n    ".join([seen, extent, old]))
