"""Noise in steps of 2, of half the scale: the variance is right and the last bit of every count is
not hidden at all.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("HistogramQuery, black box", "discrete Laplace, ε = 1/2")


def plant() -> AbstractContextManager[None]:
    """Round each draw to an even number."""
    from metricdp.privacy.noise import Noise

    return rewritten(
        Noise,
        "__call__",
        "self._mechanism(block)",
        "[v + (y - v) // 2 * 2 for v, y in zip(block, self._mechanism(block))]",
    )
