"""Biased counts are not held at a floor: where no record could open a cell, many depths still tell
a little each.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = ("openings, add-remove", "openings, add-remove, users of 3")


def plant() -> AbstractContextManager[None]:
    """Let the bias take counts as far down as it may."""
    from metricdp.privacy import opening

    return patched(opening, "held", lambda counts, levels, bias: counts - bias * levels)
