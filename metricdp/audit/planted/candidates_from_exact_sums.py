"""Candidate centers in a box are means of buckets whose records are summed without noise: only
their counts have it.
"""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "k_means, max-coverage as published, a box, add-remove",
    "k_means, max-coverage as published, a box, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Draw and charge for the sums as before, and tell the exact ones."""
    from metricdp.methods.box import private_candidates
    from metricdp.methods.shares import Allowance
    from metricdp.privacy import SumsQuery, _vault

    class Telling(Allowance):
        """Sums are answered without their noise."""

        def ask(self, query: Any, share: Any, demand: Any = None) -> Any:
            release = super().ask(query, share, demand)
            if not isinstance(query, SumsQuery):
                return release
            return replace(release, values=query.exact(_vault._open(self.demand)))

    return patched(private_candidates, "Allowance", Telling)
