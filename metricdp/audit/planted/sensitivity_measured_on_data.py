"""Noise for the largest change that this very demand can undergo (its local sensitivity), not for
that of any demand.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("CostQuery, two points, add-remove", "CostQuery, three points, replace-one")


def plant() -> AbstractContextManager[None]:
    """Measure the range of the scores on the records."""
    from metricdp.privacy import gate

    measured = "max(1, max(int(np.ptp(block)) for block in query.blocks(_vault._open(demand))))"
    return rewritten(
        gate, "select", "query.range(grant.neighboring, demand.max_contributions)", measured
    )
