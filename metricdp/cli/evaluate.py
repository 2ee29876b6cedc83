"""``metricdp evaluate``: the exact cost of given centers, without any protection."""

from __future__ import annotations

import json
import warnings
from argparse import Namespace
from typing import Any

from metricdp.cli import inputs, parsing, streams
from metricdp.cli.streams import say
from metricdp.errors import InputError

_EPILOG = """\
example:
  metricdp evaluate roads.csv --demand homes.csv --centers result.json

Stdout gets {"objective": ..., "k": ..., "cost": ..., "mean": ..., "privacy": "none"}; mean is the
cost per record. The figures are exact and stand on no ledger: whoever publishes them, or chooses
by them, has no guarantee any more."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "evaluate",
        usage="metricdp evaluate GRAPH --demand FILE --centers FILE [option ...]",
        help="exact cost of centers on private demand: not private",
        description="Compute the exact cost of centers for a demand file, for those who hold "
        "the data.\n"
        "This reads private data, and the result is not private.",
        epilog=_EPILOG,
    )
    parsing.add_graph_options(parser)
    parsing.add_demand_options(parser, required=True)
    group = parser.add_argument_group("the question")
    what = "JSON as `metricdp cluster` writes it, or a JSON list of vertex ids"
    group.add_argument("--centers", metavar="FILE", required=True, help=what)
    parsing.add_objective(group)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Read, compute, and say that the figure is not private."""
    parsing.check_columns(args)
    centers = read_centers(args.centers)
    from metricdp.privacy import exact_cost
    from metricdp.universe.tables import read_table

    metric = inputs.read_metric(args)
    metric.positions(centers)
    demand = inputs.read_demand(args, metric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cost = exact_cost(demand, centers, 2 if args.objective == "k-means" else 1)
    records = len(read_table(args.demand, private=True))
    say(
        "warning: this read private data, and the figures are exact: they are not private, do not "
        "publish them"
    )
    mean = cost / records if records else None
    figures = {
        "objective": args.objective,
        "k": len(centers),
        "cost": cost,
        "mean": mean,
        "privacy": "none",
    }
    problem = streams.show_result(streams.to_json(figures))
    if problem is not None:
        raise problem
    return 0


def read_centers(path: str) -> list[Any]:
    """Return the centers of a result file.

    Raises
    ------
    InputError, OSError
        No such file; not JSON with a list of ids.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - an empty path must stay an error of open
        data = file.read()
    parsed: Any = None
    try:
        parsed = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise InputError(
            f"{path}: is not JSON; --centers takes what `metricdp cluster --output` wrote"
        ) from None
    centers = parsed.get("centers") if isinstance(parsed, dict) else parsed
    if not isinstance(centers, list) or not centers:
        raise InputError(
            f"{path}: has no list 'centers'; --centers takes what `metricdp cluster --output` wrote"
        )
    if any(isinstance(c, bool) or not isinstance(c, str | int | float) for c in centers):
        raise InputError(f"{path}: centers must be vertex ids, numbers or text")
    return centers
