"""``metricdp plan``: predicts the accuracy at each epsilon by public simulation."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from fractions import Fraction

import metricdp as mdp
from metricdp.cli import inputs, objectives, sites, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import note, say
from metricdp.methods.remarks import percent
from metricdp.running.planning import EPSILONS, LADDER, checked_epsilons, checked_target


def run(args: Namespace) -> None:
    """Check, read the graph, simulate, write."""
    if args.target is not None and args.target.lstrip(".")[:1].isdigit():  # else a column
        if args.goal is not None:
            raise UsageError("--goal and --target with a number say the same: give one")
        args.goal, args.target = args.target, None
    if args.goal is not None:
        checked_target(args.goal)
    if args.epsilons is None:
        args.epsilons = EPSILONS if args.goal is None else LADDER
    if args.time_limit is None:
        args.time_limit = 50.0 if args.goal is None else 400.0
    budgets = checked_epsilons(args.epsilons)
    objectives.check_method(args, releases=args.output is not None)
    streams.check_files(args)
    metric = inputs.read_metric(args)
    inputs.check_k(args, metric)
    asked = ["records", "k", "epsilons", "method", "objective", "neighboring", "max_contributions"]
    asked += ["repeats", "seed", "time_limit"]
    plan = mdp.plan(
        metric,
        **{name: getattr(args, name) for name in asked},
        delta=args.delta or 0,
        expected=objectives.expected(args, metric),
        by=sites.read_areas(args.by, args.by_column, metric),
        target=args.goal,
        watch=_plan_rows(budgets) if not args.quiet and streams.on_screen() else None,
    )
    if plan.runs < plan.cost[0].size:
        done = f"simulated {plan.runs} of {plan.cost[0].size} demands in {args.time_limit:g} s"
        note(f"{done}: --time-limit {10 * args.time_limit:g} is surer")
    tables.show(args, plan.to_dict(), lambda: tables.of_plan(plan))
    if not tables.on_terminal(args):
        for line in str(plan).splitlines():
            note(line.rstrip(), raw=True)
    if args.output is not None:
        page = mdp.Exploration.of_plan(plan).page(args.title, attribution=args.attribution)
        streams.write_text(args.output, page)
        note(f"wrote {args.output}")


def _plan_rows(budgets: Sequence[Fraction]) -> Callable[[str, Fraction, float], None]:
    """A callback that prints a row after each simulated demand."""
    cells: list[str] = []

    def show(shape: str, epsilon: Fraction, excess: float) -> None:
        if not cells:
            say("cost above the best known so far, by epsilon", raw=True)
            say(_row("", [f"{float(budget):g}" for budget in budgets]), raw=True)
        cells.append(percent(excess))
        if len(cells) % len(budgets) == 0:
            say(_row(shape, cells[-len(budgets) :]), raw=True)

    return show


def _row(name: str, cells: list[str]) -> str:
    return "  ".join([f"{name:>13}", *(f"{cell:>6}" for cell in cells)])
