"""The average of a ball's records divides by their exact number: its noise is drawn and charged
for, and not added.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("coreset, a projected center, a box, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Tell the exact number and the noisy sum."""
    from metricdp.methods.box import coreset
    from metricdp.privacy import _vault

    real = coreset.measure

    def measure(demand: Any, query: Any, price: Any, grant: Any) -> Any:
        release = real(demand, query, price, grant)
        values = release.values.copy()
        values[0] = query.exact(_vault._open(demand))[0]
        return replace(release, values=values)

    return patched(coreset, "measure", measure)
