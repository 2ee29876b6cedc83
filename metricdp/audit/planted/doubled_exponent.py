"""The selection races with twice the exponent, exp(2 · epsilon · score / range): the factor 2 of
the proof on the wrong side.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "exponential mechanism, five candidates",
    "permute-and-flip, five candidates",
    "CoverageQuery, black box",
)


def plant() -> AbstractContextManager[None]:
    """Hand the race twice the exponent that was asked for."""
    from metricdp.privacy import selection

    return rewritten(
        selection,
        "choose",
        '== "exponential mechanism", eta)',
        '== "exponential mechanism", 2 * eta)',
    )
