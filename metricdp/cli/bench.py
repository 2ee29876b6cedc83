"""``metricdp bench``: suites that measure metricdp against published optima and tables."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from metricdp.bench import pmed, tsplib
from metricdp.cli import INTERRUPTED, parsing, streams
from metricdp.cli.streams import say


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command and its suites to the parser."""
    parser = subparsers.add_parser(
        "bench",
        help="measure solvers and private methods on published instances",
        description="Measure metricdp on published instances: a table on stdout, or the same "
        "as JSON.",
        epilog="example:\n  metricdp bench pmed --instances 1-10\n\nOptions of a suite: "
        "metricdp bench SUITE --help",
    )
    suites = parser.add_subparsers(title="suites", metavar="SUITE", required=True)
    for suite in (pmed, tsplib):
        add_suite(suite, suites)


def add_suite(module: Any, suites: Any) -> None:
    """Add a suite, and the options that are common to all."""
    suite = module.register(suites)
    coins = "public coins, never of noise (default: %(default)s)"
    suite.add_argument("--seed", metavar="S", type=parsing.whole_number(0), default=0, help=coins)
    suite.add_argument("--json", action="store_true", help="JSON on stdout instead of the table")
    suite.add_argument("--output", metavar="FILE", help="the JSON, to a file as well")
    parsing.add_quiet(suite)
    suite.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Measure and print; Ctrl-C prints what was measured by then."""
    streams.check_stdout([args.output])
    streams.check_targets({"--output": args.output}, {})
    report = args.measure(args)
    text = streams.to_json(report.to_dict())
    streams.show_result(text if args.json else report.table())
    if args.output is not None:
        streams.write_text(args.output, text)
        if not args.quiet:
            say(f"wrote {args.output}")
    if report.unfinished:
        say(report.unfinished)
        return INTERRUPTED
    return 0
