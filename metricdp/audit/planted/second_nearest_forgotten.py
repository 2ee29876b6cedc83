"""The range of a swap's scores is taken from the distances to the nearest center, but the nearest
is what a swap may take away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metricdp.audit.patch import patched, unchecked

CAUGHT_BY = ("SwapQuery, a path, add-remove", "SwapQuery, a path, replace-one")


@contextmanager
def plant() -> Iterator[None]:
    """Ask for the farthest point from its nearest center, not from its second-nearest."""
    from metricdp.privacy import swaps

    real = swaps.farthest

    def nearest(scale: Any, served: Any) -> int:
        return real(scale, served._replace(far=served.near))

    with unchecked(), patched(swaps, "farthest", nearest):
        yield
