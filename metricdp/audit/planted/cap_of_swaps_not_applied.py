"""The noise of a swap follows a public cap of distances, but the costs do not: a record far away
counts as far as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metricdp.audit.patch import patched, unchecked

CAUGHT_BY = (
    "SwapQuery, one center, cap, a path, add-remove",
    "SwapQuery, one center, cap, a path, replace-one",
)


@contextmanager
def plant() -> Iterator[None]:
    """Sum costs without a cap; sensitivities keep it."""
    from metricdp.records.sums.swap_costs import SwapCosts

    real = SwapCosts.__init__

    def far(self: Any, metric: Any, points: Any, counts: Any, scale: Any) -> None:
        real(self, metric, points, counts, scale._replace(cap=1 << 30))

    with unchecked(), patched(SwapCosts, "__init__", far):
        yield
