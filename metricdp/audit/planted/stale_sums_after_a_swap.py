"""After a swap demand points add what they cost now, and what they added before is not taken back:
records count twice.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("a swap after a swap, a path, add-remove", "a swap after a swap, a path, replace-one")


def plant() -> AbstractContextManager[None]:
    """Repair as if the point had added nothing yet."""
    from metricdp.records.sums.swap_costs import SwapCosts

    old = "before, after = (tuple(int(part[i]) for part in side) for side in (old, new))"
    return rewritten(
        SwapCosts,
        "_exchange",
        old,
        "before, after = (-1, 0, 0), tuple(int(part[i]) for part in new)",
    )
