"""All rounds of a covering loop are selected with the exponent that one round of them could have:
further rounds are charged nothing.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("covering loop, whole-loop bound, add-remove", "CoverQuery, two points, add-remove")


def plant() -> AbstractContextManager[None]:
    """Price a loop of one round."""
    from metricdp.privacy import gate

    return rewritten(gate, "cover", "exponent(price, query.rounds,", "exponent(price, 1,")
