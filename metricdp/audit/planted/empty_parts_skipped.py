"""Parts without records are left out of the histogram, as a dictionary of counts would do: which
parts appear tells who is there.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove",
    "k_median, partition, two points, add-remove",
    "HistogramQuery, black box",
)


def plant() -> AbstractContextManager[None]:
    """Return the counts of parts that hold records only."""
    from metricdp.privacy import HistogramQuery

    all_parts, some = (
        "np.bincount(self.parts(records), minlength=self.n_parts)",
        "np.unique(self.parts(records), return_counts=True)[1]",
    )
    return rewritten(HistogramQuery, "exact", all_parts, some)
