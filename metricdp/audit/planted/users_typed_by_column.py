"""A column of users is typed by all of its cells: one ``1.5`` makes floating-point numbers of all,
and merges users of 19 digits.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("one user more, through every loader",)


def plant() -> AbstractContextManager[None]:
    """Numbers, if all cells are."""
    from metricdp.records.ingestion import columns

    inner = columns.texts

    def typed(cells: Any) -> Any:
        read: list[Any] = inner(cells)
        try:
            numbers = [float(cell) for cell in read]
        except (TypeError, ValueError):
            return read
        whole = all(text.lstrip("-").isdigit() for text in read)
        return read if whole else [repr(number) for number in numbers]

    return patched(columns, "texts", typed)
