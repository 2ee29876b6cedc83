"""``metricdp evaluate``: how well given centers serve private demand, under privacy or exactly."""

from __future__ import annotations

import os
import warnings
from argparse import Namespace
from typing import Any

from metricdp.cli import budget, inputs, parsing, sites, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say
from metricdp.interruption import held

_EPILOG = """\
examples:
  metricdp evaluate roads.csv --demand homes.csv --centers result.json \\
      --epsilon 0.1 --within 500,1000
  metricdp evaluate roads.csv --demand homes.csv --centers result.json

With --epsilon stdout gets estimates with 95 % intervals that may be published: {"mean":
{"estimate": ..., "low": ..., "high": ...}, "median": ..., "p90": ..., "share": ..., "loads": ...,
"receipt": ...}; distances beyond "clip" count as that in the mean. Without, it gets {"objective":
..., "k": ..., "cost": ..., "mean": ..., "privacy": "none"}; mean is the cost per record. Those
figures are exact and stand on no ledger: whoever publishes them, or chooses by them, has no
guarantee any more."""
_PRIVATE = (
    *("delta", "neighboring", "ledger", "user", "max_contributions", "weighting", "caps"),
    "engine",
)
_QUESTIONS = ("within", "against", "by", "clip", "map")


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "evaluate",
        usage="metricdp evaluate GRAPH --demand FILE --centers FILE [--epsilon E] [option ...]",
        help="how well centers serve private demand: with --epsilon under privacy, else exactly",
        description="Tell how well centers serve the demand of a file: with --epsilon under "
        "differential privacy,\n"
        "with intervals; without, exactly, for those who hold the data, and not private.",
        epilog=_EPILOG,
    )
    parsing.add_graph_options(parser)
    demand = parsing.add_demand_options(parser, required=True)
    group = parser.add_argument_group("the question")
    what = (
        "what `metricdp cluster` wrote (JSON, GeoPackage, ...), a JSON list of vertex ids, a table "
        "with a column center or vertex, or points"
    )
    group.add_argument("--centers", metavar="FILE", required=True, help=what)
    which = "layer of --centers (default: sites, or the only one)"
    group.add_argument("--centers-layer", metavar="NAME", help=which)
    parsing.add_objective(group)
    limits = "distances, such as 500,1000 or '5 min': the share of the demand within each of them"
    group.add_argument("--within", metavar="D,D,...", type=parsing.distances, help=limits)
    rivals = "other centers, such a file: do the first ones serve better?"
    group.add_argument("--against", metavar="FILE", help=rivals)
    areas = (
        "public areas: polygons, or a table with the columns vertex and area; how well is each "
        "served, and which one worst?"
    )
    group.add_argument("--by", metavar="FILE", help=areas)
    named = "column of --by that names the areas (default: %(default)s)"
    group.add_argument("--by-column", metavar="C", default="area", help=named)
    bound = "in the mean, distances beyond it count as this much (default: one few should exceed)"
    group.add_argument("--clip", metavar="D", type=parsing.distance, help=bound)
    parsing.add_measured_in(group)
    spent = "privacy budget of this call, such as 0.1 or 1/3; without it the answer is exact"
    budget.add_privacy_options(demand, parser.add_argument_group("the price"), spent)
    page = "one HTML page of the centers, with these figures and their intervals"
    group = parser.add_argument_group("what is written")
    group.add_argument("--map", metavar="FILE", help=page)
    parsing.add_words_of_page(group)
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Read, compute, and say what the figures are worth."""
    _check_options(args)
    if args.epsilon is not None:
        from metricdp.methods.shares import Terms, price_in_shares

        budget.check_budget(args, price_in_shares(Terms.offered(args.epsilon, args.delta or 0)))
    metric = inputs.read_metric(args)
    centers = sites.read_centers(args.centers, metric, args.centers_layer)
    others = None if args.against is None else sites.read_centers(args.against, metric)
    areas = None if args.by is None else sites.read_areas(args.by, args.by_column, metric)
    demand = inputs.read_demand(args, metric)
    report = None
    if args.epsilon is None:
        exact = _exactly(args, demand, centers)
        tables.show(args, exact, lambda: _exact_table(exact, metric))
    else:
        with held(budget.told):  # figures that are paid for are told
            report = _privately(args, metric, demand, centers, others, areas)
            figures = {"k": len(centers), **report.to_dict(), "distance_unit": metric.measured}
            figures["privacy"] = "differential"
            tables.show(args, figures, lambda: f"{report}\n\nreceipt: {report.receipt}\n")
    if args.map is not None:
        _write_map(args, metric, centers, report)
    return 0


def _check_options(args: Namespace) -> None:
    parsing.check_columns(args)
    budget.check_options(args)
    if args.epsilon is None:
        for name in (*_PRIVATE, *_QUESTIONS):
            if getattr(args, name) is not None:
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} goes with --epsilon: without, the answer is exact")
    elif args.objective != "k-median":
        raise UsageError("with --epsilon distances are judged: leave --objective out")
    if args.map is not None:
        given = {"GRAPH": args.graph, "--demand": args.demand, "--centers": args.centers}
        given["--by"] = args.by
        streams.check_targets({"--map": args.map, "--ledger": args.ledger}, given)


def _privately(
    args: Namespace, metric: Any, demand: Any, centers: Any, others: Any, areas: Any
) -> Any:
    import metricdp as mdp

    ledger = budget.open_ledger(args)
    with budget.noting_expense(ledger):
        report = mdp.evaluate(
            metric,
            demand,
            centers,
            epsilon=args.epsilon,
            delta=args.delta or 0,
            ledger=ledger,
            within=args.within or (),
            against=others,
            by=areas,
            clip=args.clip,
        )
    if not args.quiet:
        for line in [] if tables.on_terminal(args) else str(report).splitlines():
            say(line)
        budget.say_expense(args, report.receipt, ledger)
    return report


def _write_map(args: Namespace, metric: Any, centers: list[Any], report: Any) -> None:
    from metricdp.report import write_map

    shown = {"receipt": report.receipt, "evaluation": report, "k": len(centers)}
    shown |= {"title": args.title, "attribution": args.attribution}
    write_map(os.path.realpath(args.map), metric, centers, **shown)
    if not args.quiet:
        say(f"wrote {args.map}")


def _exactly(args: Namespace, demand: Any, centers: list[Any]) -> dict[str, Any]:
    from metricdp.privacy import exact_cost
    from metricdp.privacy.evaluation import exact_counts

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cost = exact_cost(demand, centers, 2 if args.objective == "k-means" else 1)
        records = int(exact_counts(demand).sum())
    say(
        "warning: this read private data, and the figures are exact: they are not private, do not "
        "publish them"
    )
    mean = cost / records if records else None
    return {
        "objective": args.objective,
        "k": len(centers),
        "cost": cost,
        "mean": mean,
        "distance_unit": demand.universe.measured,
        "privacy": "none",
    }


def _exact_table(told: dict[str, Any], metric: Any) -> str:
    """The same as people read it: distances, and squares of them, with their unit."""
    from metricdp.metrics.units import in_words, unit_shown

    mean, name = told["mean"], "mean squared distance"
    if mean is not None and told["objective"] == "k-median":
        mean, name = in_words(mean, unit_shown(metric)), "mean distance"
    lines = {"cost": told["cost"], name: mean, "centers": told["k"], "privacy": "none: exact"}
    return tables.of_facts(lines)
