"""A look before the last is paid from a grant of its own that no ledger knows of, so that the last
one still has all of epsilon.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "release, two looks, two pairs, add-remove",
    "release, two looks, two pairs, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Charge nobody for any look but the last."""
    from metricdp.accounting import Cost, Grant
    from metricdp.methods import runner
    from metricdp.privacy import HistogramQuery

    real = runner.measure

    def measure(demand: Any, query: Any, epsilon: Any, grant: Any, delta: Any = 0) -> Any:
        free = isinstance(query, HistogramQuery) and epsilon < grant.left
        own = Grant(Cost.of(epsilon), grant.neighboring, grant.scope) if free else grant
        return real(demand, query, epsilon, own, delta)

    return patched(runner, "measure", measure)
