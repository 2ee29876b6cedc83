"""The noise drawn has half the scale that the receipt states, and OpenDP's own account of it is not
asked: twice the epsilon.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove",
    "discrete Laplace, ε = 1/2",
    "HistogramQuery, black box",
)


@contextmanager
def plant() -> Iterator[None]:
    """Halve the scale of the discrete Laplace noise, not that of the receipt."""
    from metricdp.privacy.noise import DiscreteLaplace, Noise

    with ExitStack() as bug:
        bug.enter_context(
            rewritten(DiscreteLaplace, "__init__", "scale=self.scale)", "scale=self.scale / 2)")
        )
        bug.enter_context(rewritten(Noise, "_confirm", "> float(claim)", "> 2 * float(claim)"))
        yield
