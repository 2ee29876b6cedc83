"""Users keep all their records, whatever `max_contributions` says, while sensitivities are stated
for m of them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = ("HistogramQuery, two points, add-remove, users of 3", "contribution bounding, 2 of 4")


def plant() -> AbstractContextManager[None]:
    """Keep every record of a user."""
    from metricdp.records.engines import bounding

    real = bounding.sample
    every = lambda users, n_records, m: real(users, n_records, n_records + 1)  # noqa: E731
    return patched(bounding, "sample", every)
