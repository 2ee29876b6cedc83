"""The papers' exponent epsilon / (2 ln(e/delta)) is used where exp(x) - 1 <= 2x, on which its proof
rests, does not hold.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from fractions import Fraction

from metricdp.audit.patch import patched

CAUGHT_BY = ("covering loop, published, large epsilon, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Do not look whether it is safe."""
    from metricdp.accounting import covering

    return patched(covering, "_largest", lambda *budget: Fraction(10**9))
