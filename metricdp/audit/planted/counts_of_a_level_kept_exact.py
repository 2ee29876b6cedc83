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
    from metricdp.methods.finite import hst_counts
    from metricdp.methods.shares import Allowance
    from metricdp.privacy import HistogramQuery, _vault

    class Telling(Allowance):
        """Histograms are answered without their noise."""

        def ask(self, query: Any, share: Any, demand: Any = None) -> Any:
            release = super().ask(query, share, demand)
            if not isinstance(query, HistogramQuery):
                return release
            return replace(release, values=query.exact(_vault._open(self.demand)))

    return patched(hst_counts, "Allowance", Telling)
