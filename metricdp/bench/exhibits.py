"""What the suites of papers 3 to 5 share: a paper's figures and tables, one exhibit each, with what
the paper prints, what is measured here, and what differs and why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from metricdp.bench.report import Column, Report, aligned, gathered

Rows = list[dict[str, Any]]
WIDTH = 100


@dataclass(frozen=True)
class Scale:
    """How large a run is.

    Attributes
    ----------
    size : {"quick", "middle", "full"}
        A look on small made-up data; minutes; the paper's sizes.
    repeats : int
        Repetitions of every private answer: coins and noise anew.
    seed : int
        Public coins.
    """

    size: str
    repeats: int
    seed: int

    def choose(self, quick: Any, middle: Any, full: Any) -> Any:
        """The one of this size."""
        return {"quick": quick, "middle": middle, "full": full}[self.size]


@dataclass(frozen=True)
class Curves:
    """How an exhibit is drawn: `y` by `x`, a curve for each value of `by`, a panel for each of
    `panel`.
    """

    x: str
    y: str
    by: str
    panel: str | None = None
    logarithmic: str = "xy"


@dataclass(frozen=True)
class Exhibit:
    """A figure or table of a paper.

    Attributes
    ----------
    key : str
        Its name on the command line, such as ``"figure5"``.
    title : str
    printed : str
        What the paper prints or says of it.
    differs : str
        What is not as in the paper here, and why.
    columns : sequence of Column
    cases : function
        Of a `Scale`: what is measured, one after another.
    measured : function
        Of a case and a `Scale`: rows, JSON-ready.
    told : function
        Of the rows: lines that hold them against what the paper says.
    curves : Curves or None
    """

    key: str
    title: str
    printed: str
    differs: str
    columns: Sequence[Column]
    cases: Callable[[Scale], Sequence[Any]]
    measured: Callable[[Any, Scale], Iterable[dict[str, Any]]]
    told: Callable[[Rows], Iterable[str]]
    curves: Curves | None = None


class ExhibitReport(Report):
    """One table an exhibit: the paper's words, the rows, ours, and what differs."""

    def table(self) -> str:
        """All exhibits as text, then the summary."""
        blocks: list[str] = []
        for each in self.summary["exhibits"]:
            rows = [row for row in self.rows if row["exhibit"] == each["key"]]
            if rows:
                blocks += [*_block(each, rows), ""]
        return "\n".join([*blocks, *self.lines]) + "\n"


def _block(each: dict[str, Any], rows: Rows) -> list[str]:
    columns = [Column(*column) for column in each["columns"]]
    lines = [each["title"], "", *_wrapped("the paper: ", each["paper"]), ""]
    lines += [*aligned(columns, rows), ""]
    for line in each["ours"]:
        lines += _wrapped("here: ", line)
    return [*lines, *_wrapped("differs: ", each["differs"])]


def _wrapped(head: str, text: str) -> list[str]:
    return wrap(head + text, WIDTH, subsequent_indent=" " * len(head), break_on_hyphens=False)


def run_exhibits(suite: str, exhibits: Sequence[Exhibit], scale: Scale) -> Report:
    """Measure exhibits one after another; Ctrl-C keeps what is done.

    Raises
    ------
    InputError
        Data are not there.
    """
    start = time.perf_counter()
    steps = [(each, case) for each in exhibits for case in each.cases(scale)]

    def rows_of(step: tuple[Exhibit, Any]) -> Iterable[dict[str, Any]]:
        return ({"exhibit": step[0].key, **row} for row in step[0].measured(step[1], scale))

    rows, unfinished = gathered(rows_of, steps, label=suite, unit="cell")
    told = [
        _summary(each, [row for row in rows if row["exhibit"] == each.key]) for each in exhibits
    ]
    lines = [f"time: {time.perf_counter() - start:.0f} s in all; demand is public or made up here"]
    settings = {"size": scale.size, "repeats": scale.repeats, "seed": scale.seed}
    settings["only"] = [each.key for each in exhibits]
    summary = {"exhibits": told}
    return ExhibitReport(suite, settings, (), rows, summary, lines, unfinished)


def _summary(each: Exhibit, rows: Rows) -> dict[str, Any]:
    columns = [[column.key, column.heading, column.form] for column in each.columns]
    words = {"key": each.key, "title": each.title, "paper": each.printed, "differs": each.differs}
    return {**words, "ours": list(each.told(rows)) if rows else [], "columns": columns}
