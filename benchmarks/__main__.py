"""``python -m benchmarks NAME [option ...]``: one measurement, with the repository as folder."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from runpy import run_module

from benchmarks import PAPERS
from metricdp import cli
from metricdp.cli import bench, declared, parsing

PROGRAM = "python -m benchmarks"
OPTIONS = (
    "--seed",
    {"name": "--json", "help": "JSON on stdout instead of the table"},
    {"name": "--output", "help": "the JSON, to a file as well"},
    "--quiet",
)


def scripts() -> list[str]:
    """Names of measurements that have options of their own."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(
        {f.stem for f in files}
        - {*PAPERS, "__init__", "__main__", "everything", "masking", "peer_runner"}
    )


def parser() -> parsing.Parser:
    """The parser of the suites, those of ``metricdp bench`` among them."""
    others = f"Other measurements: {', '.join(scripts())}."
    whole = parsing.Parser(prog=PROGRAM, description="Measure metricdp.", epilog=others)
    suites = whole.add_subparsers(title="suites", metavar="NAME", required=True)
    declared.declare_actions(suites, "bench", cli.run_command)
    for name in (*PAPERS, "everything"):
        suite = import_module(f"benchmarks.{name}").register(suites)
        declared.add(suite, OPTIONS)
        suite.set_defaults(run=lambda args: bench.run(args, args.measure))
    for name in scripts():  # run by `main`: here so that a wrong name is answered with all names
        suites.add_parser(name)
    return whole


def main(argv: list[str]) -> int:
    """Run the measurement that the first argument names."""
    if argv and argv[0] in scripts():
        sys.argv = [f"{PROGRAM} {argv[0]}", *argv[1:]]
        run_module(f"benchmarks.{argv[0]}", run_name="__main__")
        return 0
    return cli.main(argv, parser)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
