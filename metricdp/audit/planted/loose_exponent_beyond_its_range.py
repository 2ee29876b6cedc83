"""The papers' exponent epsilon / (2 ln(e/delta)) is used where exp(x) - 1 <= 2x, on which its proof
rests, does not hold.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("covering loop, published, large epsilon, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Do not look whether it is safe."""
    from metricdp.accounting import covering

    return rewritten(
        covering,
        "exponent",
        "min(_loose(epsilon, delta), _largest(epsilon, delta, neighboring))",
        "_loose(epsilon, delta)",
    )
