"""Noise of the right law from NumPy's global generator: whoever knows or sets the seed subtracts
it.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("noise, generators seeded alike", "HistogramQuery, two points, add-remove")


def plant() -> AbstractContextManager[None]:
    """Draw the difference of two geometric variables with ``numpy.random``."""
    from metricdp.privacy.noise import Noise

    two = "np.random.geometric(-np.expm1(-1 / self.scale), (2, len(block)))"
    return rewritten(
        Noise,
        "__call__",
        "self._mechanism(block)",
        f"[v + int(a - b) for v, (a, b) in zip(block, {two}.T)]",
    )
