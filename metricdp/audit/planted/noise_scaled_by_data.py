"""Noise in proportion to the count it hides, so that large counts keep their relative error and
small ones are hardly hidden.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove",
    "k_median, partition, two points, add-remove",
    "HistogramQuery, black box",
)


def plant() -> AbstractContextManager[None]:
    """Multiply each draw by the count: an empty part gets none at all."""
    from metricdp.privacy.noise import Noise

    real = Noise.__call__

    def scaled(self: Any, values: Any) -> Any:
        return values + values * (real(self, values) - values)

    return patched(Noise, "__call__", scaled)
