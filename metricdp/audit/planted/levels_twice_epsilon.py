"""The levels of a tree get epsilon, epsilon/2, epsilon/4, … as a paper prints it, each from a grant
of its own: almost twice epsilon.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "k_median, hst by levels, a path, add-remove",
    "k_median, hst by levels, a path, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Halve from level to level, and do not normalize."""
    from metricdp.methods.finite import hst_counts

    paid = (
        "budget.measure(demand, HistogramQuery(LevelCells(tree, level)), shares[i] / "
        "sum(shares[i:]))"
    )
    share = "grant.epsilon / 2**i"
    own = (
        f"measure(demand, HistogramQuery(LevelCells(tree, level)), {share}, "
        f"Grant(Cost.of({share}), grant.neighboring, grant.scope))"
    )
    return rewritten(hst_counts, "count_levels", paid, own)
