"""The vault opens before the grant has paid: a refused call has read the data, and whatever it then
says depends on them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("nothing read before it is paid for", "nothing read by refused calls")


def plant() -> AbstractContextManager[None]:
    """Open the vault one step too early."""
    from metricdp.privacy import _vault, gate

    real = gate._check

    def check(demand: Any, *others: Any) -> None:
        real(demand, *others)
        _vault._open(demand)

    return patched(gate, "_check", check)
