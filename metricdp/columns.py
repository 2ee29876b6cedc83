"""Tables as text: cells in aligned columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def aligned(rows: Iterable[Sequence[str]], left: Collection[int] = ()) -> list[str]:
    """Lines of a table: columns to the right, those numbered in `left` to the left."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table)]
    put = [str.ljust if i in left else str.rjust for i in range(len(widths))]
    lines = ([side(*cell) for side, *cell in zip(put, row, widths)] for row in table)
    return ["  ".join(cells).rstrip() for cells in lines]
