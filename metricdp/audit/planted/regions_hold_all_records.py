"""Every region of a split holds the records of all, so that a record is paid for in its own region
and told about in the others too.
"""

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "k_median, regions, two points, add-remove",
    "k_median, regions, two points, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Restrict the demand to nothing."""
    from metricdp.privacy import _vault, gate

    def parts(demand: Any, query: Any) -> list[Any]:
        return [demand._restricted(_vault._open(demand)) for _ in range(query.n_parts)]

    return patched(gate, "_parts", parts)
