"""Counts of a quadtree's cells get noise for d·log2(n) levels, as a paper prints it; cut in middle
thirds, the tree has more of them.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "k_median, quadtree by levels, a box, add-remove",
    "k_median, quadtree by levels, a box, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Give every level a d-th of epsilon, as if log2(n) were 1."""
    from metricdp.methods.box import quadtree

    honest = (
        "histogram = measure(demand, HistogramQuery(counted(cells)), left if last else paid, grant)"
    )
    share = "grant.epsilon / cells.universe.dimension"
    own = (
        f"histogram = measure(demand, HistogramQuery(cells), {share}, Grant(Cost.of({share}), "
        f"grant.neighboring, grant.scope))"
    )
    return rewritten(quadtree.Quadtree, "_release", honest, own)
