"""``metricdp bench``: measures metricdp against published optima."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from metricdp.bench.p_median import LIBRARIES
from metricdp.cli import INTERRUPTED, streams
from metricdp.cli.streams import note, say


def run_pmed(args: Namespace) -> int:
    """The p-median instances of OR-Library."""
    return run(args, LIBRARIES["pmed"].measure)


def run_tsplib(args: Namespace) -> int:
    """The instances of TSPLIB."""
    return run(args, LIBRARIES["tsplib"].measure)


def run(args: Namespace, measure: Callable[[Namespace], Any]) -> int:
    """Measure and print; after Ctrl-C, print the results so far."""
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
