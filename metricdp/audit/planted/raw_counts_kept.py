"""The exact answer stays on the object that is returned, out of sight of its repr, and is published
with the first pickle.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove",
    "k_median, partition, two points, add-remove",
)


def plant() -> AbstractContextManager[None]:
    """Keep the exact answer on the query, which the release holds."""
    from metricdp.privacy import gate

    kept = "object.__setattr__(query, 'answer', answer)\n    return noise(answer)"
    return rewritten(gate, "_noisy", "return noise(answer)", kept)
