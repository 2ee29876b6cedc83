"""The tree is grown anew for every demand, from coins that depend on it: what it looks like tells
of the records.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("k_median, hst, two points, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Seed the tree with the number of records."""
    from metricdp.methods.finite.hst import DPHST

    coins = "len(__import__('metricdp.privacy._vault', fromlist=['_open'])._open(demand))"
    return rewritten(
        DPHST, "_counts", "question.metric, question.seed)", f"question.metric, {coins})"
    )
