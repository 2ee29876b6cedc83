"""Text files are read by a parser of CSV that lets quoted cells hold line breaks: a quote that one
record leaves open swallows the records after it.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("a line is a record",)


def plant() -> AbstractContextManager[None]:
    """Read a block of lines at once."""
    from metricdp.records.ingestion.lines import Lines

    def columns(self: Any, names: Sequence[str]) -> dict[str, list[str]]:
        lines = [line for line in self.data.decode().splitlines(True) if line.strip()]
        kept = [line for line in lines if line.strip() not in self.layout.head]
        rows = list(csv.reader(kept, delimiter=self.layout.delimiter))
        return {name: [row[self.layout.place(name)] for row in rows] for name in names}

    return patched(Lines, "columns", columns)
