"""Under replace-one a record leaves one part and joins another; a split is charged for one of them."""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "split, any mechanism, two points, replace-one",
    "split, counts, two points, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Charge both relations alike."""
    from metricdp.privacy import gate

    return rewritten(gate, "split", '(1 if ledger.neighboring == "add-remove" else 2)', "1")
