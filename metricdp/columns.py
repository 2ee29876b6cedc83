"""Tables as text: cells in aligned columns."""

from collections.abc import Collection, Iterable, Sequence


def aligned(rows: Iterable[Sequence[str]], left: Collection[int] = ()) -> list[str]:
    """Lines of a table, with right-aligned columns, but for those numbered in `left`."""
    table = list(rows)
    lines = [""] * len(table)
    for number, column in enumerate(zip(*table)):
        put, width = str.ljust if number in left else str.rjust, max(map(len, column))
        lines = [f"{line}  {put(cell, width)}" for line, cell in zip(lines, column)]
    return [line[2:].rstrip() for line in lines]
