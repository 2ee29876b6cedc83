"""``metricdp stream``: one budget, a private release of the present every day."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from metricdp.cli import budget, inputs, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say

_EPILOG = """\
examples:
  metricdp stream init visits.stream roads.csv --epsilon 1 --horizon 365 \\
      --records-hint 500
  metricdp stream step visits.stream roads.csv --demand monday.csv \\
      --day 2026-11-23 -k 10
  metricdp stream show visits.stream roads.csv --html visits.html

Epsilon is charged once, by init, for all days together. A step tells the present after its day; the
same --day again counts nothing and tells the same, so a step that was cut short can be repeated.
The state is private: keep it where the demand is kept, and never go back to an older copy."""


_OF_TABLES = {"unreachable": None, "map": None, "tree": None}
"""Options of other commands, of which the reader of ``--format costs`` asks."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "stream",
        usage="metricdp stream init|step|show STATE [GRAPH] [option ...]",
        help="days that follow days: one budget, a release of the present every day",
        description="Release the present of private demand day after day, for one budget in all.",
        epilog=_EPILOG,
    )
    named = {"title": "actions", "metavar": "ACTION", "prog": "metricdp stream"}
    actions = parser.add_subparsers(required=True, **named)
    _register_init(actions)
    _register_step(actions)
    _register_show(actions)


def _register_show(actions: Any) -> None:
    show = actions.add_parser("show", help="what a stream promises, how far it is, how it moved")
    show.add_argument("state", metavar="STATE", help="the stream's file")
    parsing.add_graph_options(show, required=False)
    group = show.add_argument_group("the page")
    page = "write a page with a slider over the days, which shows how the centers moved (GRAPH too)"
    group.add_argument("--html", metavar="FILE", help=page)
    parsing.add_words_of_page(group)
    many = "of so many centers (default: what was asked for last)"
    group.add_argument("-k", metavar="K", type=parsing.whole_number(1), help=many)
    tables.add_json(show)
    parsing.add_quiet(show)
    show.set_defaults(run=run_show)


def _register_init(actions: Any) -> None:
    parser = actions.add_parser("init", help="begin a stream: its whole budget is charged")
    parser.add_argument("state", metavar="STATE", help="the stream's file, to be made")
    parsing.add_graph_options(parser)
    group = parser.add_argument_group("the stream (public)")
    days = parsing.whole_number(1, 100_000)
    horizon = "number of days (default: unknown, for somewhat more noise)"
    group.add_argument("--horizon", metavar="T", type=days, help=horizon)
    window = "the present is the last so many days (default: all days so far)"
    group.add_argument("--window", metavar="DAYS", type=days, help=window)
    fading = "the present is all days, one so many days ago counting half"
    group.add_argument("--half-life", metavar="DAYS", type=parsing.positive_number, help=fading)
    whom = "who is protected: each record (event), or each user on all days together (user)"
    group.add_argument("--unit", choices=("event", "user"), default="event", help=whom)
    kept = "records kept of each user on one day, with --unit user (default: 1)"
    group.add_argument("--max-contributions", metavar="M", type=days, default=1, help=kept)
    moves = "most centers that move from one day to the next (default: any number)"
    group.add_argument("--recourse", metavar="R", type=days, help=moves)
    hint = "public guess of the number of records a day, which chooses how fine counts are"
    group.add_argument("--records-hint", metavar="N", type=parsing.positive_number, help=hint)
    group.add_argument(
        "--parts", metavar="N", type=parsing.whole_number(1, 1 << 15), help="that, in parts"
    )
    coins = "public coins of the partition (default: %(default)s)"
    group.add_argument("--seed", metavar="S", type=parsing.whole_number(0), default=0, help=coins)
    price = parser.add_argument_group("the price")
    spent = "privacy budget of all days together"
    price.add_argument("--epsilon", metavar="E", type=parsing.budget, required=True, help=spent)
    loss = "with a delta, noise is Gaussian (default: 0)"
    price.add_argument("--delta", metavar="D", type=parsing.delta, help=loss)
    relation = "what changes: one more or less, or one for another (default: add-remove)"
    price.add_argument("--neighboring", choices=("add-remove", "replace-one"), help=relation)
    budget.add_ledger_options(
        price,
        total="budget of a new ledger (default: the stream's epsilon)",
        loss="delta of a new ledger (default: the stream's)",
    )
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run_init, demand=None, **_OF_TABLES)


def _register_step(actions: Any) -> None:
    parser = actions.add_parser("step", help="count one day, and tell the present after it")
    parser.add_argument("state", metavar="STATE", help="the stream's file")
    parsing.add_graph_options(parser)
    demand = parsing.add_demand_options(parser, required=True)
    whose = "column that says whose record it is, of a stream of --unit user"
    demand.add_argument("--user", metavar="COLUMN", type=parsing.column, help=whose)
    group = parser.add_argument_group("the day")
    name = "its name, such as 2026-11-23: the same again counts nothing and tells the same"
    group.add_argument("--day", metavar="NAME", required=True, help=name)
    moved = "the journal of its ledger, where that is no longer at the place that STATE names"
    group.add_argument("--ledger", metavar="FILE", help=moved)
    many = "also tell so many centers for the present"
    group.add_argument("-k", metavar="K", type=parsing.whole_number(1), help=many)
    kept = "the present's release, for cluster and synthesize --from-release"
    group.add_argument("--save-release", metavar="FILE", help=kept)
    group.add_argument("--output", metavar="FILE", help="the JSON of stdout, to a file as well")
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run_step, **_OF_TABLES)


def run_init(args: Namespace) -> int:
    """Check, charge, write the state."""
    import metricdp as mdp
    from metricdp.privacy.continual import whole_cost

    if Path(args.state).exists():
        say(f"{args.state} exists already: it is gone on from, and not charged again")
    budget_of = Namespace(**vars(args))
    budget_of.user = "user" if args.unit == "user" else None
    streams.check_targets(
        {"STATE": args.state, "--ledger": args.ledger}, {"GRAPH": args.graph, "--nodes": args.nodes}
    )
    if not Path(args.state).exists():
        budget.check_budget(budget_of, whole_cost(args.epsilon, args.delta or 0))
    metric = inputs.read_universe(args)
    ledger = budget.open_ledger(args)
    with budget.noting_expense(ledger):
        stream = mdp.Stream(
            metric,
            args.epsilon,
            args.delta or 0,
            horizon=args.horizon,
            unit=args.unit,
            window=args.window,
            half_life=args.half_life,
            max_contributions=args.max_contributions,
            recourse=args.recourse,
            records_hint=args.records_hint,
            parts=args.parts,
            ledger=ledger,
            path=args.state,
            seed=args.seed,
        )
    if not args.quiet:
        budget.say_expense(args, stream.receipt, ledger)
    return _told(args, stream.to_dict(), None)


def run_step(args: Namespace) -> int:
    """Check, count, tell."""
    import metricdp as mdp
    from metricdp.running.stream_file import opened

    parsing.check_columns(args)
    streams.check_stdout([args.output])
    given = {"STATE": args.state, "GRAPH": args.graph, "--demand": args.demand}
    targets = {"--output": args.output, "--save-release": args.save_release}
    streams.check_targets(targets, given | {"--nodes": args.nodes, "--ledger": args.ledger})
    settings = opened(Path(args.state))[0]["settings"]
    users = settings["unit"] == "user"
    if users != (args.user is not None):
        raise UsageError(
            "this stream protects users: say whose record each is with --user COLUMN"
            if users
            else "this stream protects records (event level): leave --user out"
        )
    metric = inputs.read_universe(args)
    if args.k is not None and args.k > len(metric.sites):
        raise UsageError(f"-k {args.k}: {metric.name} has only {len(metric.sites):,} places")
    ledger = None if args.ledger is None else mdp.Ledger.open(args.ledger)
    stream = mdp.Stream.open(args.state, metric, ledger=ledger)
    args.max_contributions = settings["max_contributions"] if users else None
    release = stream.step(inputs.read_demand(args, metric), day=args.day)
    if args.save_release is not None:
        release.save(args.save_release)
    told: dict[str, Any] = {"day": args.day, "days": release.day}
    if args.k is not None:
        found = stream.k_median(args.k)
        told |= {"centers": found.result.to_dict()["centers"], "k": args.k}
        told |= {"moved": found.moved, "alarm": found.alarm}
        if found.alarm and not args.quiet:
            say("alarm: the demand has changed by more than the centers may move in a day")
    return _told(args, {**told, "receipt": release.receipt.to_dict()}, args.output)


def run_show(args: Namespace) -> int:
    """Print what the file says in public; perhaps a page of it."""
    from metricdp.running.stream_file import public_facts

    facts = public_facts(Path(args.state))
    if args.html is None:
        if args.graph is not None or args.k is not None:
            raise UsageError("GRAPH and -k are for the page: give --html FILE too")
        return _told(args, facts, None)
    if args.graph is None:
        raise UsageError("--html draws the network: give GRAPH too, as for init")
    streams.check_targets(
        {"--html": args.html}, {"STATE": args.state, "GRAPH": args.graph, "--nodes": args.nodes}
    )
    known = {int(k): answers[-1]["day"] for k, answers in facts["centers"].items() if answers}
    if not known or (args.k is not None and args.k not in known):
        some = ", ".join(map(str, sorted(known))) or "none"
        raise UsageError(f"-k: the centers that were asked for in steps are, in number: {some}")
    k = args.k or max(known, key=lambda number: (known[number], number))
    _write_page(args, k)
    return _told(args, facts, None)


def _write_page(args: Namespace, k: int) -> None:
    import metricdp as mdp
    from metricdp.report import write_days

    metric = inputs.read_metric(args)
    stream = mdp.Stream.open(args.state, metric)
    said = {"title": args.title, "attribution": args.attribution}
    write_days(args.html, metric, stream.history(k), receipt=stream.receipt, **said)
    if not args.quiet:
        say(f"wrote {args.html}")


def _told(args: Namespace, value: dict[str, Any], path: str | None) -> int:
    tables.show(args, value)
    if path is not None:
        streams.write_text(path, streams.to_json(value))
    return 0
