"""Results of a benchmark suite: rows and a summary, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from metricdp.columns import aligned as in_columns
from metricdp.progress import progress
from metricdp.releases import installed_version

Step = TypeVar("Step")


@dataclass(frozen=True)
class Column:
    """A column of the table.

    `key`: its key in the rows; `form`: format specification of its values, such as ``".3f"``;
    without one they are text, aligned left.
    """

    key: str
    heading: str
    form: str = ""

    def cell(self, row: dict[str, Any]) -> str:
        """The value in a row as text; a dash without one."""
        value = row.get(self.key)
        return "-" if value is None else format(value, self.form)


@dataclass(frozen=True)
class Report:
    """Results of a suite: its `settings`, JSON-ready `rows` and `summary`, the `columns` of the
    table, `lines` of text below it, and what Ctrl-C left `unfinished`.
    """

    suite: str
    settings: dict[str, Any]
    columns: Sequence[Column]
    rows: list[dict[str, Any]]
    summary: dict[str, Any]
    lines: list[str]
    unfinished: str = ""

    def table(self) -> str:
        """Headings, rows and the summary in words, as aligned text."""
        return "\n".join([*aligned(self.columns, self.rows), "", *self.lines]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-ready values, with everything in the rows."""
        whole = {
            "suite": self.suite,
            "version": installed_version(),
            "settings": self.settings,
            "rows": self.rows,
            "summary": self.summary,
        }
        return whole | {"unfinished": self.unfinished} if self.unfinished else whole


def aligned(columns: Sequence[Column], rows: Iterable[dict[str, Any]]) -> list[str]:
    """Lines of a table: headings, then rows."""
    cells = ([c.cell(row) for c in columns] for row in rows)
    left = [i for i, c in enumerate(columns) if not c.form]
    return in_columns([[c.heading for c in columns], *cells], left)


def gathered(
    measure: Callable[[Step], Iterable[dict[str, Any]]],
    steps: Sequence[Step],
    *,
    label: str,
    unit: str,
) -> tuple[list[dict[str, Any]], str]:
    """Rows of one step after another; Ctrl-C keeps those of finished steps."""
    rows: list[dict[str, Any]] = []
    done = 0
    try:
        for step in progress(steps, label=label, unit=unit):
            rows += list(measure(step))
            done += 1
    except KeyboardInterrupt:
        if not done:
            raise
    return rows, "" if done == len(
        steps
    ) else f"interrupted after {done:,} of {len(steps):,} {unit}s"
