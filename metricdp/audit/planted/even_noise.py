"""Noise in steps of 2, of half the scale: the variance is right and the last bit of every count is
not hidden at all.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("HistogramQuery, black box", "discrete Laplace, ε = 1/2")


def plant() -> AbstractContextManager[None]:
    """Round each draw to an even number."""
    from metricdp.privacy.noise import Noise

    real = Noise.__call__

    def even(self: Any, values: Any) -> Any:
        return values + (real(self, values) - values) // 2 * 2

    return patched(Noise, "__call__", even)
