"""Under replace-one a record leaves one part and joins another, which moves the histogram by 2; the
factor 2 is dropped.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "HistogramQuery, two points, replace-one",
    "k_median, partition, two points, replace-one",
    "HistogramQuery, replace-one, black box",
)


def plant() -> AbstractContextManager[None]:
    """State the sensitivity of add-remove for both relations."""
    from metricdp.privacy import HistogramQuery

    return patched(HistogramQuery, "sensitivity_of", staticmethod(lambda neighboring, m: m))
