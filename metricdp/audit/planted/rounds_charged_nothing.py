"""All rounds of a covering loop are selected with the exponent that one round of them could have:
further rounds are charged nothing.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("covering loop, whole-loop bound, add-remove", "CoverQuery, two points, add-remove")


def plant() -> AbstractContextManager[None]:
    """Price a loop of one round."""
    from metricdp.privacy import gate

    real = gate.exponent

    def exponent(price: Any, rounds: int, *unit: Any, **options: Any) -> Any:
        return real(price, 1, *unit, **options)

    return patched(gate, "exponent", exponent)
