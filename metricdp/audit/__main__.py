"""``python -m metricdp.audit``: prints claims and findings; exit status 0 if all checks pass."""

import argparse
import os
import sys
import time
from collections.abc import Sequence

from metricdp.audit import report
from metricdp.audit.runner import audit

MOST_PROCESSES = 6
"""Default limit, as each process may need half a gigabyte."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit with command-line arguments, and print its report."""
    parser = argparse.ArgumentParser(prog="python -m metricdp.audit", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the short form, for every change: about a minute of one processor",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="run only what has TEXT in its name"
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=min(os.cpu_count() or 1, MOST_PROCESSES),
        metavar="N",
        help="number of processes (default: one for each processor, here %(default)s)",
    )
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    findings, catches = audit(options.quick, options.only, options.processes)
    if not findings and not catches:
        parser.error(f"no check and no planted bug has {options.only!r} in its name")
    seconds = time.perf_counter() - start
    if options.json:
        scope = "short form" if options.quick else "whole"
        scope += f", of names with {options.only!r} only" if options.only else ""
        text = report.as_json(findings, catches, seconds, scope)
    else:
        text = report.as_text(findings, catches, seconds)
    sys.stdout.write(f"{text}\n")
    return 0 if report.clean(findings, catches) else 1


if __name__ == "__main__":
    raise SystemExit(main())
