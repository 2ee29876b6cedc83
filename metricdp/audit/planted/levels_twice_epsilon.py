"""The levels of a tree get epsilon, epsilon/2, epsilon/4, … as a paper prints it, each from a grant
of its own: almost twice epsilon.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary

from metricdp.audit.patch import replaced

CAUGHT_BY = (
    "k_median, hst by levels, a path, add-remove",
    "k_median, hst by levels, a path, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Halve from level to level, and do not normalize."""
    from metricdp.accounting import Cost, Grant
    from metricdp.partitions.finite.hst_levels import LevelCells
    from metricdp.privacy import gate

    real = gate.measure
    levels = WeakKeyDictionary[Any, int]()

    def measure(demand: Any, query: Any, epsilon: Any, grant: Any, delta: Any = 0) -> Any:
        if not isinstance(getattr(query, "partition", None), LevelCells):
            return real(demand, query, epsilon, grant, delta)
        share = grant.epsilon / 2 ** levels.setdefault(grant, 0)
        levels[grant] += 1
        own = Grant(Cost.of(share), grant.neighboring, grant.scope)
        return real(demand, query, share, own)

    return replaced(gate, "measure", measure)
