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
    from metricdp.partitions.box.cells import Shells
    from metricdp.running.runner import Run

    real = Run._measured

    def measured(self: Any, query: Any, share: Fraction, image: Any) -> Any:
        if not isinstance(getattr(query, "partition", None), Shells):
            return real(self, query, share, image)
        own = Grant(Cost.of(self.grant.epsilon), self.grant.neighboring, self.grant.scope)
        return real(Run(self.demand, own), query, Fraction(1), image)

    return patched(Run, "_measured", measured)
