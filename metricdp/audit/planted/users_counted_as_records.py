"""A user may keep m records, but sensitivities are taken for one: the factor m is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = (
    "HistogramQuery, two points, add-remove, users of 3",
    "CountQuery, two points, add-remove, users of 3",
)


@contextmanager
def plant() -> Iterator[None]:
    """Ask queries for their sensitivity with m = 1."""
    from metricdp.privacy import CountQuery, HistogramQuery

    with ExitStack() as stack:
        for kind in (CountQuery, HistogramQuery):
            stack.enter_context(patched(kind, "sensitivity", _of_one(kind.sensitivity)))
        yield


def _of_one(real: Any) -> Any:
    return lambda self, neighboring, m: max(1, real(self, neighboring, 1))
