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
    from metricdp.privacy import _vault
    from metricdp.privacy.balls import PeeledSums
    from metricdp.running.runner import Run

    real = Run._measured

    def measured(self: Any, query: Any, share: Any, image: Any) -> Any:
        release = real(self, query, share, image)
        if not isinstance(query, PeeledSums):
            return release
        values = release.values.copy()
        values[0] = query.exact(_vault._open(self.demand))[0]
        return replace(release, values=values)

    return patched(Run, "_measured", measured)
