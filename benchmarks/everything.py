"""``python -m benchmarks all``: every suite in turn, and one report of them: machine, versions,
tables and figures, as one HTML page and one Markdown page with its pictures.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import PAPERS, SUITES
from benchmarks.frame.pages import facts, html_page, markdown_page
from metricdp.bench.p_median import LIBRARIES, Column, Report
from metricdp.cli import run_command
from metricdp.cli.declared import declare_actions
from metricdp.errors import InputError, MetricDPError
from metricdp.progress import progress

SUITE = "all"
_EPILOG = """\
examples:
  python -m benchmarks all --short --folder report        a look: small instances, few repetitions
  METRICDP_DATA=data python -m benchmarks all --middle --folder report         half an hour or so
  METRICDP_DATA=data python -m benchmarks all --folder report --peer-python peers/bin/python

The folder gets report.html (one file, opens offline), report.md with its pictures, and report.json
with all that was measured. A suite whose data are not there is named, and left out. The full run
takes hours."""


class Run(NamedTuple):
    """One suite as it is run: fully, in minutes, and for a look."""

    suite: str
    title: str
    full: tuple[str, ...] = ()
    short: tuple[str, ...] = ("--quick",)
    middle: tuple[str, ...] = ("--middle",)


RUNS = (
    Run(
        "pmed",
        "Without private demand: OR-Library's p-median",
        (),
        ("--instances", "1,6,11"),
        ("--instances", "1,5,10,15,20,25,30,35,40"),
    ),
    Run(
        "tsplib",
        "Without private demand: TSPLIB's points",
        (),
        ("-p", "100", "--time-limit=5"),
        ("--instances=rl1304", "-p=100,300"),
    ),
    Run(
        "paper1",
        "Paper 1: private k-median of points in a box",
        middle=("--sets=skin,s1", "-k=5,20", "--records=50000", "--repeats=2"),
    ),
    Run(
        "paper2",
        "Paper 2: trees and private local search, as printed and as here",
        middle=("--settings=graph", "-k=5,20", "--repeats=2"),
    ),
    Run("paper3", "Paper 3: private coresets of pick-ups"),
    Run("paper4", "Paper 4: clustering by maximum coverage"),
    Run("paper5", "Paper 5: k-means from one message a user"),
    Run(
        "peers",
        "Private k-means beside other packages",
        middle=("--sets=gm-d2-k8,gm-d10-k8", "--repeats=2", "--records=20000", "--epsilons=1"),
    ),
)
"""In the order of the report; a suite that is not listed here is run by its defaults."""


@dataclass(frozen=True)
class Part:
    """What became of one run.

    Attributes
    ----------
    title, command : str
    report : Report or None
    seconds : float
    problem : str
        Why there is no report; empty if there is one.
    pictures : tuple of path
    """

    title: str
    command: str
    report: Report | None
    seconds: float
    problem: str = ""
    pictures: tuple[Path, ...] = ()

    def to_row(self) -> dict[str, Any]:
        """One line of the table of contents, JSON-ready."""
        reported = self.problem or (self.report.unfinished if self.report else "") or "measured"
        rows = 0 if self.report is None else len(self.report.rows)
        whole = None if self.report is None else self.report.to_dict()
        facts = {"title": self.title, "command": self.command, "outcome": reported}
        return facts | {"measurements": rows, "seconds": self.seconds, "report": whole}


def register(suites: Any) -> ArgumentParser:
    """Add the suite to ``python -m benchmarks``."""
    parser: ArgumentParser = suites.add_parser(
        SUITE,
        usage="python -m benchmarks all --folder DIR [--short | --middle] [option ...]",
        help="all suites, in one report with machine, versions, tables and figures",
        description="Run all suites and write one report: HTML, Markdown and JSON.",
        epilog=_EPILOG,
    )
    parser.add_argument("--folder", metavar="DIR", required=True, help="of the report; made anew")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--short", action="store_true", help="a look at each, in minutes")
    size.add_argument("--middle", action="store_true", help="between the two: half an hour or so")
    parser.add_argument(
        "--suites", metavar="LIST", help="only these, with commas between (default: all)"
    )
    parser.add_argument("--peer-python", metavar="PATH", help="as of peers")
    parser.set_defaults(measure=measure)
    return parser


def measure(args: Namespace) -> Report:
    """Run the suites as the command line asks, and write the report."""
    folder = _made(args.folder)
    extra: dict[str, tuple[str, ...]] = {}
    if args.peer_python is not None:
        extra["peers"] = ("--peer-python", args.peer_python)
    form = {"short": args.short, "middle": args.middle}
    return run(folder, **form, suites=args.suites, seed=args.seed, extra=extra)


def run(
    folder: str | Path,
    *,
    short: bool = False,
    middle: bool = False,
    suites: str | None = None,
    seed: int = 0,
    extra: dict[str, tuple[str, ...]] | None = None,
) -> Report:
    """Run suites one after another; what is done by Ctrl-C is reported.

    Parameters
    ----------
    folder : path
        For report.html, report.md, report.json and pictures.
    short : bool
        Small instances.
    middle : bool
        Instances between these and the papers' own.
    suites : str, optional
        Names with commas between.
    seed : int
        Public coins.
    extra : dict from suite to arguments, optional

    Returns
    -------
    Report
        A row a run.

    Raises
    ------
    InputError
        An unknown suite.
    """
    chosen = _chosen(suites)
    target = Path(folder)
    parser = _parser()
    parts: list[Part] = []
    machine, unfinished = facts(), ""
    settings = {"short": short, "middle": middle, "seed": seed}
    try:
        for number, one in enumerate(progress(chosen, label="measuring", unit="suite")):
            form = one.short if short else one.middle if middle else one.full
            asked = [*form, *(extra or {}).get(one.suite, ())]
            parts.append(_measured(parser, one, asked, seed, target / f"figures-{number}"))
            unfinished = f"ended after {len(parts):,} of {len(chosen):,} suites"
            _written(parts, target, settings, machine, unfinished)  # what is done is not lost
        unfinished = ""
    except KeyboardInterrupt:
        if not parts:
            raise
        unfinished = f"interrupted after {len(parts):,} of {len(chosen):,} suites"
    return _written(parts, target, settings, machine, unfinished)


def _made(folder: str) -> Path:
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError(f"--folder: {folder} is a file")
    path.mkdir(parents=True, exist_ok=True)
    return path


def _chosen(suites: str | None) -> list[Run]:
    names = list(SUITES)
    runs = [*RUNS, *(Run(n, n) for n in names if n not in {one.suite for one in RUNS})]
    runs = [one for one in runs if one.suite in names]
    if suites is None:
        return runs
    asked = [name.strip() for name in suites.split(",")]
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise InputError(f"there is no suite {unknown[0]!r}; there are {', '.join(names)}")
    return [one for one in runs if one.suite in asked]


def _parser() -> ArgumentParser:
    """The parser of all suites but this one."""
    parser = ArgumentParser(prog="python -m benchmarks", exit_on_error=False)
    below = parser.add_subparsers(required=True)
    declare_actions(below, "bench", run_command)
    for name in PAPERS:
        suite = import_module(f"benchmarks.{name}").register(below)
        suite.add_argument("--seed", type=int, default=0)
    return parser


def _measured(
    parser: ArgumentParser, one: Run, asked: Sequence[str], seed: int, folder: Path
) -> Part:
    command = " ".join(["python -m benchmarks", one.suite, *asked])
    known = parser.parse_args([one.suite, *asked, "--seed", str(seed)])
    if hasattr(known, "plots"):
        folder.mkdir(parents=True, exist_ok=True)
        known.plots = str(folder)
    start = time.perf_counter()
    try:
        suite = LIBRARIES.get(one.suite) or import_module(f"benchmarks.{one.suite}")
        report = suite.measure(known)
    except MetricDPError as error:
        spent = time.perf_counter() - start
        return Part(one.title, command, None, spent, f"left out: {error}")
    pictures = tuple(sorted(folder.glob("*.png"))) if folder.is_dir() else ()
    return Part(one.title, command, report, time.perf_counter() - start, "", pictures)


def _written(
    parts: Sequence[Part],
    folder: Path,
    settings: dict[str, Any],
    machine: dict[str, str],
    unfinished: str,
) -> Report:
    from json import dumps

    from metricdp.atomic import write_whole

    report = Report(
        SUITE,
        settings,
        [
            Column("command", "suite"),
            Column("measurements", "rows", "d"),
            Column("seconds", "seconds", ".1f"),
            Column("outcome", "outcome"),
        ],
        [part.to_row() for part in parts],
        {"machine": machine},
        list(_lines(folder)),
        unfinished,
    )
    write_whole(folder / "report.html", html_page(parts, machine, settings, unfinished))
    write_whole(folder / "report.md", markdown_page(parts, machine, settings, unfinished, folder))
    write_whole(folder / "report.json", dumps(report.to_dict(), indent=1) + "\n")
    return report


def _lines(folder: Path) -> Iterator[str]:
    for name in ("report.html", "report.md", "report.json"):
        yield f"wrote {folder / name}"
