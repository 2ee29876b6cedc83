"""``metricdp evaluate``: how well given centers serve private demand, privately or exactly."""

import warnings
from argparse import Namespace
from collections.abc import Hashable
from typing import Any

import metricdp as mdp
from metricdp.cli import budget, inputs, parsing, sites, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import note, say
from metricdp.interruption import held
from metricdp.metrics.base import Metric
from metricdp.metrics.units import in_words, unit_shown
from metricdp.privacy import PrivateDemand, exact_cost
from metricdp.privacy.evaluation import exact_counts
from metricdp.report import map_page

_PRIVATE = (
    *("delta", "neighboring", "ledger", "user", "max_contributions", "weighting", "caps"),
    "engine",
)
_QUESTIONS = ("within", "against", "by", "clip", "map")


def run(args: Namespace) -> None:
    """Check, read, compute, report."""
    _check_options(args)
    if args.epsilon is not None:
        from metricdp.methods.asking import Terms, price_in_shares

        budget.check_budget(args, price_in_shares(Terms.offered(args.epsilon, args.delta or 0)))
    metric = inputs.read_metric(args)
    centers = sites.read_centers(args.centers, metric, args.centers_layer)
    others = None if args.against is None else sites.read_centers(args.against, metric)
    areas = sites.read_areas(args.by, args.by_column, metric)
    demand = inputs.read_demand(args, metric)
    if args.epsilon is None:
        exact = _exactly(args, metric, demand, centers)
        tables.show(args, exact, lambda: _exact_table(exact, metric))
        return
    # an interruption waits until the charged figures are reported
    with held(budget.report_interruption):
        asked = {"epsilon": args.epsilon, "delta": args.delta or 0, "within": args.within or ()}
        asked |= {"against": others, "by": areas, "clip": args.clip}
        with budget.paying(args) as ledger:
            report = mdp.evaluate(metric, demand, centers, ledger=ledger, **asked)
        if not tables.on_terminal(args):
            for line in str(report).splitlines():
                note(line)
        budget.say_expense(args, report.receipt, ledger)
        figures = {"k": len(centers), **report.to_dict(), "distance_unit": metric.measured}
        figures["privacy"] = "differential"
        tables.show(args, figures, lambda: f"{report}\n\nreceipt: {report.receipt}\n")
    if args.map is not None:
        shown: dict[str, Any] = {"receipt": report.receipt, "evaluation": report, "k": len(centers)}
        texts = {"title": args.title, "attribution": args.attribution}
        streams.write_text(args.map, map_page(metric, centers, **shown, **texts))
        note(f"wrote {args.map}")


def _check_options(args: Namespace) -> None:
    parsing.check_columns(args)
    budget.check_options(args)
    if args.epsilon is None:
        for option in parsing.given(args, (*_PRIVATE, *_QUESTIONS)):
            raise UsageError(f"{option} goes with --epsilon: without, the answer is exact")
    elif args.objective != "k-median":
        raise UsageError("with --epsilon distances are judged: leave --objective out")
    streams.check_files(args)


def _exactly(
    args: Namespace, metric: Metric, demand: PrivateDemand, centers: list[Hashable]
) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cost = exact_cost(demand, centers, 2 if args.objective == "k-means" else 1)
        records = int(exact_counts(demand).sum())
    exact = "the figures are exact: they are not private, do not publish them"
    say(f"warning: this read private data, and {exact}")
    facts = {"objective": args.objective, "k": len(centers), "cost": cost}
    facts |= {"mean": cost / records if records else None}
    return facts | {"distance_unit": metric.measured, "privacy": "none"}


def _exact_table(facts: dict[str, Any], metric: Metric) -> str:
    """Exact figures as a table, with units."""
    mean, name = facts["mean"], "mean squared distance"
    if mean is not None and facts["objective"] == "k-median":
        mean, name = in_words(mean, unit_shown(metric)), "mean distance"
    lines = {"cost": facts["cost"], name: mean, "centers": facts["k"], "privacy": "none: exact"}
    return tables.of_facts(lines)
