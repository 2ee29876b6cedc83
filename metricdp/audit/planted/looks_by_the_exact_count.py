"""How many looks the default takes follows the exact number of records, in place of the noisy one
that was paid for.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched, replaced

CAUGHT_BY = ("release, two looks, two pairs, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Decide on the length of what the vault holds."""
    from metricdp.methods.finite import partition
    from metricdp.privacy import _vault
    from metricdp.running import runner

    real = runner.released
    planned = partition.planned

    def released(method: Any, demand: Any, grant: Any, question: Any) -> Any:
        def told(records: float, scale: float, growth: float) -> Any:
            return planned(float(len(_vault._open(demand))), scale, growth)

        with patched(partition, "planned", told):
            return real(method, demand, grant, question)

    return replaced(runner, "released", released)
