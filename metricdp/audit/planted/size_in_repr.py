"""The repr of private demand tells how many records it holds, as that of every other container
does.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("canaries in results",)


def plant() -> AbstractContextManager[None]:
    """Add the number of records."""
    from metricdp.privacy import PrivateDemand

    return rewritten(
        PrivateDemand,
        "__repr__",
        "protects each {unit})",
        "{len(_vault._open(self))} records, protects each {unit})",
    )
