"""A projected method asks its price of a box of four dimensions, whatever the records' images have:
the whole budget is charged, and then there is not enough for what is really done.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("refused calls cost nothing",)


def plant() -> AbstractContextManager[None]:
    """Ask the inner method about that box."""
    from metricdp.methods import Projected
    from metricdp.metrics import EuclideanSpace

    def price(self: Any, epsilon: Any, delta: Any, terms: Any = None) -> Any:
        box = EuclideanSpace([0.0] * 4, [1.0] * 4)
        return self._method(box).price(epsilon, delta, terms)

    return patched(Projected, "price", price)
