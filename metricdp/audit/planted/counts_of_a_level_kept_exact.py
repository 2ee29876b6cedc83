"""The release of a tree keeps every level's counts as they are, beside the noisy ones that were
paid for.
"""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "k_median, hst as published, a path, add-remove",
    "k_median, hst as published, a path, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Draw and charge as before, and tell the exact counts of the levels."""
    from metricdp.privacy import HistogramQuery, _vault
    from metricdp.running.runner import Run

    real = Run._measured

    def measured(self: Any, query: Any, share: Any, image: Any) -> Any:
        release = real(self, query, share, image)
        if not isinstance(query, HistogramQuery):
            return release
        return replace(release, values=query.exact(_vault._open(self._seen(image))))

    return patched(Run, "_measured", measured)
