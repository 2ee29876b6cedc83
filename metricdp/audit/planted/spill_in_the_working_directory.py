"""DuckDB writes what does not fit into memory where it likes to: ``.tmp`` of the working directory,
readable by all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from metricdp.audit.patch import patched

CAUGHT_BY = ("what is spilled to disk",)


def plant() -> AbstractContextManager[None]:
    """Name that folder."""
    from metricdp.records.engines import spilling

    @contextmanager
    def here() -> Iterator[str]:
        yield ".tmp"

    return patched(spilling, "spilling", here)
