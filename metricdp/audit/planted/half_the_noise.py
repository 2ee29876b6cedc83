"""The noise drawn has half the scale that the receipt states, and OpenDP's own account of it is not
asked: twice the epsilon.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove",
    "discrete Laplace, ε = 1/2",
    "HistogramQuery, black box",
)


def plant() -> AbstractContextManager[None]:
    """Halve the scale of the discrete Laplace noise, not that of the receipt."""
    from metricdp.accounting import Cost
    from metricdp.privacy.noise import DiscreteLaplace, laplace_scale

    real = DiscreteLaplace.__init__

    def half(self: Any, sensitivity: int, epsilon: Any) -> None:
        real(self, sensitivity, 2 * epsilon)
        self.scale, self.cost = laplace_scale(sensitivity, epsilon), Cost.of(epsilon)

    return patched(DiscreteLaplace, "__init__", half)
