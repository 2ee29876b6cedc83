"""The selection races with twice the exponent, exp(2 · epsilon · score / range): the factor 2 of
the proof on the wrong side.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import replaced

CAUGHT_BY = (
    "exponential mechanism, five candidates",
    "permute-and-flip, five candidates",
    "CoverageQuery, black box",
)


def plant() -> AbstractContextManager[None]:
    """Hand the race twice the exponent that was asked for."""
    from metricdp.privacy import selection

    real = selection.choose
    return replaced(selection, "choose", lambda blocks, eta, law: real(blocks, 2 * eta, law))
