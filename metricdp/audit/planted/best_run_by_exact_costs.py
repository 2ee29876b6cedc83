"""Which of several runs is the best is decided on the exact costs of their centers, while the
receipt tells of noise: the choice reveals on which side one record is.
"""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "k_means, the best of two runs, a box, add-remove",
    "k_means, the best of two runs, a box, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Answer the comparison exactly, at its price."""
    from metricdp.privacy import _vault
    from metricdp.privacy.totals import TotalsQuery
    from metricdp.running.runner import Run

    real = Run._measured

    def measured(self: Any, query: Any, share: Any, image: Any) -> Any:
        release = real(self, query, share, image)
        if type(query) is not TotalsQuery:
            return release
        return replace(release, values=query.exact(_vault._open(self.demand)))

    return patched(Run, "_measured", measured)
