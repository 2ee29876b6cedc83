"""A covering loop is priced by scores that move one way, under replace-one too, where a unit leaves
and another comes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import replaced

CAUGHT_BY = ("CoverQuery, two points, replace-one",)


def plant() -> AbstractContextManager[None]:
    """Forget which relation it is."""
    from metricdp.accounting import covering

    real = covering.exponent

    def exponent(price: Any, rounds: int, neighboring: Any, m: int, **options: Any) -> Any:
        return real(price, rounds, "add-remove", m, **options)

    return replaced(covering, "exponent", exponent)
