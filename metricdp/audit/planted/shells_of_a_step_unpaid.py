"""A private Lloyd step counts records in shells with the whole epsilon of the call, beside the sums
that are paid for.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("private_mean, a box, add-remove", "private_median, a box, add-remove")


def plant() -> AbstractContextManager[None]:
    """Give the histogram a grant of its own."""
    from metricdp.accounting import Cost, Grant
    from metricdp.methods.shares import Allowance
    from metricdp.partitions.box.cells import Shells

    real = Allowance.ask

    def ask(self: Any, query: Any, share: Fraction, demand: Any = None) -> Any:
        if not isinstance(getattr(query, "partition", None), Shells):
            return real(self, query, share, demand)
        paid = self.grant
        own = Grant(Cost.of(paid.epsilon), paid.neighboring, paid.scope)
        return real(Allowance(self.demand, own, Fraction(1)), query, Fraction(1))

    return patched(Allowance, "ask", ask)
