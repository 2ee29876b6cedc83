"""What the suites of papers 3 to 5 share: a paper's figures and tables, one exhibit each, with what
the paper prints, what is measured here, and what differs and why.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from benchmarks.frame import options
from benchmarks.frame.figures import figure, saved
from metricdp.bench.p_median import Column, Report, aligned, gathered

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
    reported : function
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
    reported: Callable[[Rows], Iterable[str]]
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
    reported = [
        _summary(each, [row for row in rows if row["exhibit"] == each.key]) for each in exhibits
    ]
    lines = [f"time: {time.perf_counter() - start:.0f} s in all; demand is public or made up here"]
    settings = {"size": scale.size, "repeats": scale.repeats, "seed": scale.seed}
    settings["only"] = [each.key for each in exhibits]
    summary = {"exhibits": reported}
    return ExhibitReport(suite, settings, (), rows, summary, lines, unfinished)


def _summary(each: Exhibit, rows: Rows) -> dict[str, Any]:
    columns = [[column.key, column.heading, column.form] for column in each.columns]
    words = {"key": each.key, "title": each.title, "paper": each.printed, "differs": each.differs}
    return {**words, "ours": list(each.reported(rows)) if rows else [], "columns": columns}


def add_options(parser: ArgumentParser, exhibits: Sequence[Exhibit], repeats: int) -> None:
    """The options of a suite that is made of exhibits."""
    names = ",".join(each.key for each in exhibits)
    options.add_options(parser, {"only": names, "repeats": repeats})
    parser.add_argument("--middle", action="store_true", help="smaller than the paper's: minutes")


def measure_exhibits(
    suite: str, exhibits: Sequence[Exhibit], args: Namespace, repeats: int
) -> Report:
    """Measure as the options of `add_options` ask, and draw."""
    size = "quick" if args.quick else "middle" if args.middle else "full"
    number = args.repeats or (repeats if size == "full" else 2)
    options.check_numbers(repeats=args.repeats)
    wanted = _wanted(exhibits, args.only)
    return options.with_figures(
        args,
        lambda: run_exhibits(suite, wanted, Scale(size, number, args.seed)),
        lambda report, folder: draw(suite, wanted, report.rows, folder),
    )


def _wanted(exhibits: Sequence[Exhibit], text: str | None) -> list[Exhibit]:
    keys = options.named(text, [each.key for each in exhibits], "only")
    return [each for each in exhibits if each.key in keys]


_COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "black")
_MARKERS = "os^DvX*"
"""Colors and marks that are distinguished by color-blind readers too."""


def draw(
    suite: str, exhibits: Sequence[Exhibit], rows: Sequence[dict[str, Any]], folder: Path
) -> list[Path]:
    """Draw each exhibit with curves that was measured.

    Parameters
    ----------
    suite : str
    exhibits : sequence of Exhibit
    rows : sequence of dict
    folder : Path
        There already. Files of earlier runs with the same names are replaced.

    Returns
    -------
    list of Path
        ``SUITE_EXHIBIT.png`` each.
    """
    drawn = []
    for each in exhibits:
        here = [row for row in rows if row["exhibit"] == each.key]
        if each.curves is not None and here:
            drawn.append(_picture(each.curves, each, here, folder / f"{suite}_{each.key}.png"))
    return drawn


def _picture(curves: Curves, each: Exhibit, rows: list[dict[str, Any]], path: Path) -> Path:
    panels = list(dict.fromkeys(row[curves.panel] for row in rows)) if curves.panel else [None]
    picture, axes = figure(1, len(panels))
    picture.set_size_inches(max(picture.get_size_inches()[0], 6.4), picture.get_size_inches()[1])
    headings = {column.key: column.heading for column in each.columns}
    names = sorted({str(row[curves.by]) for row in rows}, key=_by_number)
    for axis, value in zip(axes[0], panels):
        here = [row for row in rows if curves.panel is None or row[curves.panel] == value]
        for name, color, mark in zip(names, _COLORS, _MARKERS):
            some = [
                (row[curves.x], row[curves.y])
                for row in here
                if str(row[curves.by]) == name and row.get(curves.y) is not None
            ]
            axis.plot(*zip(*sorted(some)), label=name, color=color, marker=mark) if some else None
        if "x" in curves.logarithmic:
            axis.set_xscale("log")
        if "y" in curves.logarithmic:
            axis.set_yscale("log")
        axis.set_xlabel(headings.get(curves.x, curves.x))
        axis.grid(alpha=0.25)
        if curves.panel:
            axis.set_title(f"{headings.get(curves.panel, curves.panel)} = {value}", fontsize=10)
    axes[0][0].set_ylabel(headings.get(curves.y, curves.y))
    return saved(picture, axes[0][0], path)


def _by_number(text: str) -> tuple[float, str]:
    """Numbers by size, names after them."""
    try:
        return float(text), ""
    except ValueError:
        return float("inf"), text
