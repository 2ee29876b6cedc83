"""``metricdp contributions``: private choice of the contribution bound."""

from argparse import Namespace

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.cli import budget, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import note
from metricdp.interruption import held
from metricdp.progress import doing
from metricdp.running.contributions import question_of


def run(args: Namespace) -> None:
    """Check, charge, count, report."""
    budget.check_options(args)
    streams.check_files(args)
    question = question_of(args.epsilon, args.quantile)
    bound = budget.check_budget(args, Cost.of(args.epsilon), question=question)
    if args.ledger is not None and not bound and args.epsilon_budget is None:
        part = "this choice is a small part of what is spent in all"
        raise UsageError(f"--epsilon-budget E is needed with a new ledger: {part}")
    doing("reading the demand")
    asked = {"epsilon": args.epsilon, "quantile": args.quantile}
    # an interruption waits until the charged answer is reported
    with held(budget.report_interruption):
        with budget.paying(args) as ledger:
            before = ledger.spent
            engine = args.engine or "embedded"
            found = mdp.contributions(args.demand, args.user, ledger=ledger, engine=engine, **asked)
        tables.show(args, found.to_dict(), written=args.output)
    if ledger.spent > before:
        budget.say_expense(args, found.receipt, ledger)
    else:
        note(f"ledger {args.ledger}: paid for before, so nothing was charged now")
    m = found.max_contributions
    kept = f"keep {m:,} record{'s' if m > 1 else ''} of each user"
    whose = " is the ledger's from now on" if args.ledger else ""
    note(f"{kept}: --max-contributions {m}{whose}")
