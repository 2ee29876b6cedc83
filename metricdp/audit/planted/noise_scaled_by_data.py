"""Noise in proportion to the count it hides, so that large counts keep their relative error and
small ones are hardly hidden.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove",
    "k_median, partition, two points, add-remove",
    "HistogramQuery, black box",
)


def plant() -> AbstractContextManager[None]:
    """Multiply each draw by the count: an empty part gets none at all."""
    from metricdp.privacy.noise import Noise

    return rewritten(
        Noise,
        "__call__",
        "self._mechanism(block)",
        "[v + v * (y - v) for v, y in zip(block, self._mechanism(block))]",
    )
