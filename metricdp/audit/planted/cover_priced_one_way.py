"""A covering loop is priced by scores that move one way, under replace-one too, where a unit leaves
and another comes.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("CoverQuery, two points, replace-one",)


def plant() -> AbstractContextManager[None]:
    """Forget which relation it is."""
    from metricdp.accounting import covering

    return rewritten(covering, "exponent", 'm if neighboring == "add-remove" else 2 * m', "m")
