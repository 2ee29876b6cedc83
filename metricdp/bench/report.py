"""What a suite measured: rows and a summary, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """One column of the table.

    Attributes
    ----------
    key : str
        Its key in the rows.
    heading : str
    form : str
        Format specification of its values, such as ``".3f"``; without one they are text, aligned left.
    """

    key: str
    heading: str
    form: str = ""

    def cell(self, row: dict[str, Any]) -> str:
        """The row's value as text; a dash where it has none."""
        value = row.get(self.key)
        return "-" if value is None else format(value, self.form)


@dataclass(frozen=True)
class Report:
    """The outcome of a suite.

    Attributes
    ----------
    suite : str
    settings : dict
        What was asked for, so that it can be asked again.
    columns : sequence of Column
        The part of the rows that the table shows.
    rows : list of dict
        One a measurement, JSON-ready.
    summary : dict
        JSON-ready.
    lines : list of str
        The summary in words, under the table.
    """

    suite: str
    settings: dict[str, Any]
    columns: Sequence[Column]
    rows: list[dict[str, Any]]
    summary: dict[str, Any]
    lines: list[str]

    def table(self) -> str:
        """Headings, rows and the summary in words, as aligned text.

        Examples
        --------
        >>> columns = [Column("name", "instance"), Column("gap", "gap %", ".2f")]
        >>> print(Report("toy", {}, columns, [{"name": "a", "gap": 1.0}, {"name": "b", "gap": None}], {}, ["2 instances"]).table(), end="")
        instance  gap %
        a          1.00
        b             -
        <BLANKLINE>
        2 instances
        """
        cells = [[c.heading for c in self.columns], *([c.cell(row) for c in self.columns] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        sides = [str.rjust if c.form else str.ljust for c in self.columns]
        text = ["  ".join(put(cell, width) for put, cell, width in zip(sides, row, widths)).rstrip() for row in cells]
        return "\n".join([*text, "", *self.lines]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The same as the table, and all that the rows hold: JSON-ready."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            number: str | None = version("metricdp")
        except PackageNotFoundError:
            number = None
        return {"suite": self.suite, "version": number, "settings": self.settings, "rows": self.rows, "summary": self.summary}
