"""The sums that tell the directions of the records take those far away at sixteen times the length
that their noise is made for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "k_means, subspace, a box in R^4, add-remove",
    "k_means, subspace, Gaussian, a box in R^4, add-remove",
)


@contextmanager
def plant() -> Iterator[None]:
    """Clip folded sums farther out than they say."""
    from metricdp.privacy import SumsQuery, queries

    real = SumsQuery.exact

    def exact(self: Any, records: Any) -> Any:
        if not self.folded:
            return real(self, records)
        parts = self.histogram.parts(records)
        longest = 2 ** (self.bits + 4)
        sums = queries.relative_sums(records, parts, self.centers, self.steps, longest)
        return sums[::2].sum(axis=0) - sums[1::2].sum(axis=0)

    with (
        patched(SumsQuery, "fits", lambda self, answer, n_records: True),
        patched(SumsQuery, "exact", exact),
    ):
        yield
