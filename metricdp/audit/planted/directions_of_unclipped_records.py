"""The sums that tell the directions of the records take those far away at sixteen times the length
that their noise is made for.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "k_means, subspace, a box in R^4, add-remove",
    "k_means, subspace, Gaussian, a box in R^4, add-remove",
)


def plant() -> AbstractContextManager[None]:
    """Clip folded sums farther out than they say."""
    from metricdp.privacy.queries import SumsQuery

    honest = "self.steps, 2**self.bits)"
    return rewritten(SumsQuery, "exact", honest, "self.steps, 2 ** (self.bits + 4 * self.folded))")
