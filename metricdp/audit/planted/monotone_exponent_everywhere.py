"""The larger exponent that monotone scores allow under add-remove is used under replace-one too,
where scores move both ways.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "CoverageQuery, two points, replace-one",
    "CostQuery, two points, replace-one",
    "4 selections from a pool, two points, replace-one",
    "SwapQuery, a path, replace-one",
    "CentersQuery, a path, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Forget which relation it is."""
    from metricdp.privacy import SelectionQuery

    return rewritten(
        SelectionQuery, "range", 'self.monotone and neighboring == "add-remove"', "self.monotone"
    )
