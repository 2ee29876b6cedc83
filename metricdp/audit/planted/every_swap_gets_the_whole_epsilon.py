"""Each of the T swaps is drawn with the whole epsilon of the search, and only the first of them is
paid for.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from metricdp.audit.patch import rewritten

CAUGHT_BY = (
    "k_median, two swaps and the best of three, k = 1, a path, add-remove",
    "k_median, two swaps and the best of three, k = 2, a path, add-remove",
)


@contextmanager
def plant() -> Iterator[None]:
    """Do not divide by the number of steps, and let the grant pay once."""
    from metricdp.methods.finite.local_search import LocalSearch
    from metricdp.privacy import gate

    with ExitStack() as stack:
        stack.enter_context(
            rewritten(LocalSearch, "_each", "return grant.left / times", "return grant.epsilon")
        )
        stack.enter_context(
            rewritten(gate, "select", "grant.draw(cost)", "grant.draw(0 if grant.spent else cost)")
        )
        yield
