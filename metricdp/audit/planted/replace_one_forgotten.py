"""Under replace-one a record leaves one part and joins another, which moves the histogram by 2; the
factor 2 is dropped.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "HistogramQuery, two points, replace-one",
    "k_median, partition, two points, replace-one",
    "HistogramQuery, replace-one, black box",
)


def plant() -> AbstractContextManager[None]:
    """State the sensitivity of add-remove for both relations."""
    from metricdp.privacy import HistogramQuery

    both = 'max_contributions if neighboring == "add-remove" else 2 * max_contributions'
    return rewritten(HistogramQuery, "sensitivity_of", both, "max_contributions")
