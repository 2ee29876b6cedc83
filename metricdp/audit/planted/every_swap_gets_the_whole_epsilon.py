"""Each of the T swaps is drawn with the whole epsilon of the search, and only the first of them is
paid for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "k_median, two swaps and the best of three, k = 1, a path, add-remove",
    "k_median, two swaps and the best of three, k = 2, a path, add-remove",
)


@contextmanager
def plant() -> Iterator[None]:
    """Do not divide by the number of steps, and let the grant pay once."""
    from metricdp.accounting import Grant
    from metricdp.methods.shares import Terms

    real = Grant.draw

    def once(self: Any, epsilon: object, delta: object = 0) -> None:
        if not self.spent:
            real(self, epsilon, delta)

    def whole(terms: Any, share: Any) -> Any:
        return terms.price.epsilon

    with patched(Terms, "selection", whole), patched(Grant, "draw", once):
        yield
