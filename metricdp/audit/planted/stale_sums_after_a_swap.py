"""After a swap demand points add what they cost now, and what they added before is not taken back:
records count twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from metricdp.audit.patch import patched, unchecked

CAUGHT_BY = ("a swap after a swap, a path, add-remove", "a swap after a swap, a path, replace-one")


@contextmanager
def plant() -> Iterator[None]:
    """Repair as if the point had added nothing yet."""
    from metricdp.records.sums.swap_costs import SwapCosts

    real = SwapCosts._exchange

    def exchange(self: Any, which: Any, bound: Any, old: Any, new: Any) -> None:
        slots, near, far = old
        real(self, which, bound, (np.full_like(slots, -1), 0 * near, 0 * far), new)

    with unchecked(), patched(SwapCosts, "_exchange", exchange):
        yield
