"""A user may keep m records, but sensitivities are taken for one: the factor m is dropped."""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove, users of 3",
    "CountQuery, two points, add-remove, users of 3",
)


def plant() -> AbstractContextManager[None]:
    """Ask the query for its sensitivity with m = 1."""
    from metricdp.privacy import gate

    return rewritten(
        gate,
        "measure",
        "query.sensitivity(grant.neighboring, demand.max_contributions)",
        "max(1, query.sensitivity(grant.neighboring, 1))",
    )
