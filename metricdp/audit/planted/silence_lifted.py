"""The gate forgets to silence progress bars: the search from every distinct place of demand shows
how many there are.
"""

from contextlib import AbstractContextManager, nullcontext

from metricdp.audit.patch import patched

CAUGHT_BY = ("CostQuery, a path, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Let bars show while the vault is open."""
    from metricdp.privacy import gate

    return patched(gate, "silent", nullcontext)
