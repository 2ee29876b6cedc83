"""``metricdp plan``: what each epsilon would cost in accuracy, from public simulation alone."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from fractions import Fraction

from metricdp.cli import inputs, objectives, parsing, streams, tables
from metricdp.cli.explore import add_question, check_method
from metricdp.cli.streams import say
from metricdp.errors import InputError

_EPILOG = """\
examples:
  metricdp plan roads.csv --records 5000 -k 20
  metricdp plan roads.csv --records 5000 -k 20 --target 3%%
  metricdp plan roads.csv --nodes nodes.csv --records 5000 -k 20 \\
      --epsilons 0.1,0.5,1,2 --output plan.html

Demands are made up on the public graph (spread evenly, and around hot spots of several widths),
and the real method runs on them with a ledger that is thrown away. No private data takes part and
nothing is charged, so there is no --demand; --records must be a guess from public knowledge.
A terminal gets a table; a pipe, a file or --json gets JSON, and stderr the table."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "plan",
        usage="metricdp plan GRAPH --records N -k K [--epsilons E,E,...] [--output PAGE] "
        "[option ...]",
        help="what each epsilon would cost in accuracy, from public simulation alone",
        description="Predict how much accuracy each privacy budget would cost on a public "
        "graph, for a guess of the\n"
        "number of records. Nothing private is read.",
        epilog=_EPILOG,
    )
    parsing.add_graph_options(parser)
    group = parser.add_argument_group("the question (public)")
    guess = "guess of the number of records, from public knowledge"
    group.add_argument(
        "--records", metavar="N", type=parsing.whole_number(1, 2**31 - 1), required=True, help=guess
    )
    add_question(group)
    objectives.add_expected(group)
    relation = "what changes: one more or less, or one for another (default: %(default)s)"
    group.add_argument(
        "--neighboring", choices=("add-remove", "replace-one"), default="add-remove", help=relation
    )
    kept = "records kept of each user, if users are to be protected (default: 1)"
    group.add_argument(
        "--max-contributions",
        metavar="M",
        type=parsing.whole_number(1, 2**31 - 1),
        default=1,
        help=kept,
    )
    runs = "simulated demands of every shape (default: 3; for --goal 6)"
    group.add_argument("--repeats", metavar="N", type=parsing.whole_number(1, 1000), help=runs)
    goal = (
        "the least epsilon for centers that cost at most so much more than the best, such as 3%%, "
        "in nine draws of ten; --target 3%% says the same"
    )
    group.add_argument("--goal", metavar="P", help=goal)
    limit = (
        "seconds in which as many of these are simulated as find room (default: 50; of a "
        "goal 400); more are surer"
    )
    group.add_argument("--time-limit", metavar="S", type=parsing.positive_number, help=limit)
    page = "the explore page of one simulated demand, an HTML file that opens offline"
    group = parser.add_argument_group("what is written")
    group.add_argument("--output", metavar="PAGE", help=page)
    parsing.add_words_of_page(group)
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run, epsilons=None)


def run(args: Namespace) -> int:
    """Check, read the graph, simulate, write."""
    from metricdp.running.planning import EPSILONS, checked_epsilons
    from metricdp.running.target import LADDER, checked_target

    if args.target is not None and args.target[:1].isdigit():  # else the name of a column
        args.goal, args.target = args.target, None
    if args.goal is not None:
        checked_target(args.goal)
    if args.epsilons is None:
        args.epsilons = EPSILONS if args.goal is None else LADDER
    if args.time_limit is None:
        args.time_limit = 50.0 if args.goal is None else 400.0
    budgets = checked_epsilons(args.epsilons)
    check_method(args, releases=args.output is not None)
    streams.check_stdout([args.output])
    streams.check_targets({"--output": args.output}, {"GRAPH": args.graph, "--nodes": args.nodes})
    import metricdp as mdp

    metric = inputs.read_metric(args)
    if args.k > len(metric):
        raise InputError(f"-k {args.k}: {metric.name} has only {len(metric):,} vertices")
    told = mdp.plan(
        metric,
        records=args.records,
        k=args.k,
        epsilons=args.epsilons,
        delta=args.delta or 0,
        method=args.method,
        expected=objectives.expected(args, metric),
        objective=args.objective,
        neighboring=args.neighboring,
        max_contributions=args.max_contributions,
        target=args.goal,
        repeats=args.repeats,
        seed=args.seed,
        time_limit=args.time_limit,
        watch=_PlanRows(budgets) if not args.quiet and streams.on_screen() else None,
    )
    if not args.quiet and told.runs < told.cost[0].size:
        say(
            f"simulated {told.runs} of {told.cost[0].size} demands in {args.time_limit:g} s: "
            f"--time-limit {10 * args.time_limit:g} is surer"
        )
    tables.show(args, told.to_dict(), lambda: tables.of_plan(told))
    if not args.quiet and not tables.on_terminal(args):
        for line in str(told).splitlines():
            say(line.rstrip(), raw=True)
    if args.output is not None:
        page = mdp.Exploration.of_plan(told).page(args.title, attribution=args.attribution)
        streams.write_text(args.output, page)
        if not args.quiet:
            say(f"wrote {args.output}")
    return 0


class _PlanRows:
    """A row for each simulated demand, as soon as it is known."""

    def __init__(self, budgets: Sequence[Fraction]) -> None:
        self._head = [f"{float(epsilon):g}" for epsilon in budgets]
        self._cells: list[str] = []
        self._begun = False

    def __call__(self, shape: str, epsilon: Fraction, excess: float) -> None:
        from metricdp.methods.remarks import percent

        self._cells.append(percent(excess))
        if len(self._cells) == len(self._head):
            if not self._begun:
                self._begun = True
                say("cost above the best known so far, by epsilon", raw=True)
                say(_row("", self._head), raw=True)
            say(_row(shape, self._cells), raw=True)
            self._cells = []


def _row(name: str, cells: list[str]) -> str:
    return "  ".join([f"{name:>13}", *(f"{cell:>6}" for cell in cells)])
