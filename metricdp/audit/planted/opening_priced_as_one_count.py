"""The noise of PrivTree's decisions is that of a single count, as if only one of them could tell."""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("openings, add-remove", "openings, add-remove, users of 3")


def plant() -> AbstractContextManager[None]:
    """Leave out the factor."""
    from metricdp.privacy.opening import OpeningQuery

    return rewritten(
        OpeningQuery,
        "sensitivity",
        "return FACTOR * self.sensitivity_of",
        "return self.sensitivity_of",
    )
