"""``metricdp evaluate``: how well given centers serve private demand, under privacy or exactly."""

from __future__ import annotations

import os
import warnings
from argparse import Namespace
from typing import Any

import metricdp as mdp
from metricdp.cli import budget, inputs, parsing, sites, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say
from metricdp.interruption import held
from metricdp.metrics.units import in_words, unit_shown
from metricdp.privacy import exact_cost
from metricdp.privacy.evaluation import exact_counts
from metricdp.report import write_map

_PRIVATE = (
    *("delta", "neighboring", "ledger", "user", "max_contributions", "weighting", "caps"),
    "engine",
)
_QUESTIONS = ("within", "against", "by", "clip", "map")


def run(args: Namespace) -> None:
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
    shown = {"receipt": report.receipt, "evaluation": report, "k": len(centers)}
    shown |= {"title": args.title, "attribution": args.attribution}
    write_map(os.path.realpath(args.map), metric, centers, **shown)
    if not args.quiet:
        say(f"wrote {args.map}")


def _exactly(args: Namespace, demand: Any, centers: list[Any]) -> dict[str, Any]:
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
    mean, name = told["mean"], "mean squared distance"
    if mean is not None and told["objective"] == "k-median":
        mean, name = in_words(mean, unit_shown(metric)), "mean distance"
    lines = {"cost": told["cost"], name: mean, "centers": told["k"], "privacy": "none: exact"}
    return tables.of_facts(lines)
