"""The repr of private demand tells how many records it holds, as that of every other container
does.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("canaries in results",)


def plant() -> AbstractContextManager[None]:
    """Add the number of records."""
    from metricdp.privacy import PrivateDemand, _vault

    real = PrivateDemand.__repr__

    def told(self: Any) -> str:
        return f"{len(_vault._open(self))} records, {real(self)}"

    return patched(PrivateDemand, "__repr__", told)
