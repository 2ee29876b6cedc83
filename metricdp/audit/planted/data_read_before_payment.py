"""The vault opens before the grant has paid: a refused call has read the data, and whatever it then
says depends on them.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("nothing read before it is paid for", "nothing read by refused calls")


def plant() -> AbstractContextManager[None]:
    """Open the vault one line too early."""
    from metricdp.privacy import gate

    return rewritten(
        gate, "measure", "grant.draw(cost)", "_vault._open(demand)\n    grant.draw(cost)"
    )
