"""Cells are opened without the bias of their depth: every level tells one noise scale's worth,
however many there are.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np

from metricdp.audit.patch import patched

CAUGHT_BY = ("openings, add-remove", "openings, replace-one")


def plant() -> AbstractContextManager[None]:
    """Count what is there, deep down too."""
    from metricdp.privacy import opening

    return patched(opening, "held", lambda counts, levels, bias: np.maximum(counts, 0))
