"""``metricdp contributions``: how many records of each user to keep, chosen privately."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace

from metricdp.cli import budget, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say
from metricdp.errors import InputError
from metricdp.interruption import held
from metricdp.waiting import doing

_EPILOG = """\
examples:
  metricdp contributions visits.csv --user person --epsilon 0.05 \\
      --ledger study.ledger --epsilon-budget 1
  metricdp cluster roads.csv --demand visits.csv --user person -k 20 \\
      --epsilon 0.95 --ledger study.ledger

Stdout gets {"max_contributions": M, "quantile": ..., "counts": {...}, "receipt": {...}}: M is a
power of two, and counts tells the noisy number of users by number of records ("8": more than 4, up
to 8). From then on the ledger pays for M records of each user, which --max-contributions of other
commands need not repeat; the same call again is told the same and charged nothing, also where an
earlier one was cut short. Noise grows with M, so a lower quantile is mostly better. No number has
to be chosen with --weighting share, which uses all records."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "contributions",
        usage="metricdp contributions FILE --user COLUMN --epsilon E [--ledger FILE] [option ...]",
        help="how many records of each user to keep, chosen privately",
        description="Choose --max-contributions for a small part of the budget: a quantile of how "
        "many records users\nhave, differentially private for each user with all their records.",
        epilog=_EPILOG,
    )
    group = parser.add_argument_group("the demand (private)")
    rows = "CSV, TSV or Parquet (also .gz), a glob of them or a geographic file; one row a record"
    group.add_argument("demand", metavar="FILE", help=rows)
    whose = "column that says whose record it is"
    group.add_argument("--user", metavar="COLUMN", type=parsing.column, required=True, help=whose)
    where = "what reads large demand, as for metricdp cluster (default: embedded)"
    group.add_argument("--engine", choices=("embedded", "dask", "spark"), help=where)
    group = parser.add_argument_group("the question (public)")
    share = "share of users of whom all records are kept, above 0 and below 1 (default: 0.9)"
    group.add_argument("--quantile", metavar="Q", type=_share, default="0.9", help=share)
    price = parser.add_argument_group("the price")
    spent = "privacy budget of this choice: say a twentieth of what there is"
    price.add_argument("--epsilon", metavar="E", type=parsing.budget, required=True, help=spent)
    relation = (
        "what changes: one more or less, or one for another (default: the ledger's, else "
        "add-remove)"
    )
    price.add_argument("--neighboring", choices=("add-remove", "replace-one"), help=relation)
    budget.add_ledger_options(
        price,
        total="budget of a new ledger, for this choice and all that follows; needed with one",
        loss="delta of a new ledger (default: 0)",
    )
    parser.add_argument_group("what is written").add_argument(
        "--output", metavar="FILE", help="the JSON of stdout, to a file as well"
    )
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run, delta=None, max_contributions=None)


def run(args: Namespace) -> int:
    """Check, charge, count, tell."""
    import metricdp as mdp
    from metricdp.accounting import Cost
    from metricdp.running.contributions import question_of

    budget.check_options(args)
    streams.check_stdout([args.output])
    streams.check_targets({"--output": args.output, "--ledger": args.ledger}, {"FILE": args.demand})
    question = question_of(args.epsilon, args.quantile)
    bound = budget.check_budget(args, Cost.of(args.epsilon), question=question)
    if args.ledger is not None and not bound and args.epsilon_budget is None:
        raise UsageError(
            "--epsilon-budget E is needed with a new ledger: this choice is a small part of what "
            "is spent in all"
        )
    doing("reading the demand")
    asked = {"epsilon": args.epsilon, "quantile": args.quantile}
    with held(budget.told):  # what was paid for is told
        ledger = budget.open_ledger(args)
        before = ledger.spent
        with budget.noting_expense(ledger):
            found = mdp.contributions(
                args.demand, args.user, ledger=ledger, engine=args.engine or "embedded", **asked
            )
        told = found.to_dict()
        tables.show(args, told)
        if args.output is not None:
            streams.write_text(args.output, streams.to_json(told))
    if not args.quiet:
        if ledger.spent > before:
            budget.say_expense(args, found.receipt, ledger)
        else:
            say(f"ledger {args.ledger}: paid for before, so nothing was charged now")
        m = found.max_contributions
        kept = f"keep {m:,} record{'s' if m > 1 else ''} of each user"
        whose = " is the ledger's from now on" if args.ledger else ""
        say(f"{kept}: --max-contributions {m}{whose}")
    return 0


def _share(text: str) -> str:
    """A number above 0 and below 1, kept as it is written."""
    from metricdp.accounting import exact

    try:
        fits = 0 < exact(text, "quantile") < 1
    except InputError:
        fits = False
    if not fits:
        raise ArgumentTypeError(
            f"must be a number above 0 and below 1, such as 0.5 or 9/10, got {text[:40]!r}"
        )
    return text
