"""The noise of a swap follows a public cap of distances, but the costs do not: a record far away
counts as far as it is.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "SwapQuery, one center, cap, a path, add-remove",
    "SwapQuery, one center, cap, a path, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Sum costs without a cap; sensitivities keep it."""
    from metricdp.records.sums.swap_costs import SwapCosts

    old = "self._metric, self._scale = metric, scale"
    return rewritten(
        SwapCosts,
        "__init__",
        old,
        "self._metric, self._scale = metric, scale._replace(cap=1 << 30)",
    )
