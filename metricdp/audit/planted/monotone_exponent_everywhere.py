"""The larger exponent that monotone scores allow under add-remove is used under replace-one too,
where scores move both ways.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "CoverageQuery, two points, replace-one",
    "CostQuery, two points, replace-one",
    "4 selections from a pool, two points, replace-one",
    "SwapQuery, a path, replace-one",
    "CentersQuery, a path, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Forget which relation it is."""
    from metricdp.privacy import SelectionQuery

    def spread(self: Any, neighboring: Any, m: int) -> int:
        return int(self.sensitivity(neighboring, m)) * (1 if self.monotone else 2)

    return patched(SelectionQuery, "range", spread)
