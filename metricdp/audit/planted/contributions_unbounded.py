"""Users keep all their records, whatever `max_contributions` says, while sensitivities are stated
for m of them.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("HistogramQuery, two points, add-remove, users of 3", "contribution bounding, 2 of 4")


def plant() -> AbstractContextManager[None]:
    """Keep every rank."""
    from metricdp.records.engines import bounding

    return rewritten(bounding, "sample", "order[rank < m]", "order[rank < len(order)]")
