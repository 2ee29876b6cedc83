"""``metricdp bench``: suites that measure metricdp against published optima and tables."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from metricdp.bench.p_median import LIBRARIES
from metricdp.cli import INTERRUPTED, streams
from metricdp.cli.streams import note, say


def run_pmed(args: Namespace) -> int:
    """OR-Library's instances."""
    return run(args, LIBRARIES["pmed"].measure)


def run_tsplib(args: Namespace) -> int:
    """TSPLIB's."""
    return run(args, LIBRARIES["tsplib"].measure)


def run(args: Namespace, measure: Callable[[Namespace], Any]) -> int:
    """Measure and print; Ctrl-C prints what was measured by then."""
    streams.check_files(args)
    report = measure(args)
    text = streams.to_json(report.to_dict())
    streams.show_result(text if args.json else report.table())
    streams.write_text(args.output, text)
    if args.output is not None:
        note(f"wrote {args.output}")
    if report.unfinished:
        say(report.unfinished)
        return INTERRUPTED
    return 0
