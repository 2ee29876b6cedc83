"""The command line of suites that are made of exhibits: which of them, how large, and their
figures.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from metricdp.bench.exhibits import Exhibit, Scale, run_exhibits
from metricdp.bench.report import Report
from metricdp.errors import InputError


def add_options(parser: ArgumentParser, exhibits: Sequence[Exhibit], repeats: int) -> None:
    """The options of such a suite."""
    names = ",".join(each.key for each in exhibits)
    parser.add_argument("--only", metavar="LIST", help=f"of {names} (default: all)")
    parser.add_argument(
        "--repeats", metavar="R", type=int, help=f"of every private answer (default: {repeats})"
    )
    parser.add_argument("--quick", action="store_true", help="small made-up data: a look")
    parser.add_argument("--middle", action="store_true", help="smaller than the paper's: minutes")
    parser.add_argument("--plots", metavar="DIR", help="write the figures into this folder, as PNG")


def measure_exhibits(
    suite: str, exhibits: Sequence[Exhibit], args: Namespace, repeats: int
) -> Report:
    """Measure as the options of `add_options` ask, and draw."""
    from metricdp.bench import exhibit_figures

    size = "quick" if args.quick else "middle" if args.middle else "full"
    number = args.repeats or (repeats if size == "full" else 2)
    if args.repeats is not None and args.repeats < 1:
        raise InputError(f"repeats must be at least 1, got {args.repeats}")
    folder: Path | None = None
    if args.plots is not None:
        folder = exhibit_figures.checked_folder(args.plots)
    wanted = _wanted(exhibits, args.only)
    report = run_exhibits(suite, wanted, Scale(size, number, args.seed))
    if folder is not None:
        drawn = exhibit_figures.draw(suite, wanted, report.rows, folder)
        report.lines.extend(f"wrote {path}" for path in drawn)
    return report


def _wanted(exhibits: Sequence[Exhibit], text: str | None) -> list[Exhibit]:
    if text is None:
        return list(exhibits)
    asked = [part.strip() for part in text.split(",")]
    keys = [each.key for each in exhibits]
    if unknown := [part for part in asked if part not in keys]:
        raise InputError(f"only must be of {', '.join(keys)}; got {unknown[0][:40]!r}")
    return [each for each in exhibits if each.key in asked]
