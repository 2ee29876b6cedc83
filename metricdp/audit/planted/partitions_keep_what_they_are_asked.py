"""The caller's partition itself is asked about private records: what its `encode` keeps is in the
caller's hands, and decides how the next records are read.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("a partition that keeps records, a box, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Let no copy be made."""
    from metricdp.unique import Apart

    def copied(self: Any) -> Any:
        return self._rule

    return patched(Apart, "_copied", copied)
