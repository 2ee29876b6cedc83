"""Sums clipped at the distance of the farthest record rather than at a released radius, so that
nobody is clipped and all steps shrink.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "SumsQuery from centers, a box, add-remove",
    "SumsQuery from centers, a box, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Let the records say how long a step is."""
    from metricdp.privacy.queries import SumsQuery

    farthest = "max(0.1, float(np.abs(records[:, None] - self.centers).max(initial=0.0)))"
    honest = (
        "relative_sums(records, self.histogram.parts(records), self.centers, self.steps, "
        "2**self.bits)"
    )
    return rewritten(
        SumsQuery,
        "exact",
        honest,
        honest.replace("self.steps", f"np.full(self.histogram.n_parts, {farthest} / 2**self.bits)"),
    )
