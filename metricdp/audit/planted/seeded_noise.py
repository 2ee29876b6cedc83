"""Noise of the right law from NumPy's global generator: whoever knows or sets the seed subtracts
it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from metricdp.audit.patch import patched

CAUGHT_BY = ("noise, generators seeded alike", "HistogramQuery, two points, add-remove")


def plant() -> AbstractContextManager[None]:
    """Draw the difference of two geometric variables with ``numpy.random``."""
    from metricdp.privacy.noise import Noise

    def drawn(self: Any, values: Any) -> Any:
        one, other = np.random.geometric(-np.expm1(-1 / self.scale), (2, len(values)))  # noqa: NPY002
        return values + one - other

    return patched(Noise, "__call__", drawn)
