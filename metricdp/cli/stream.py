"""``metricdp stream``: a private release after each day, for one budget."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import metricdp as mdp
from metricdp.cli import budget, inputs, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import note, say
from metricdp.privacy.continual import whole_cost
from metricdp.report import days_page
from metricdp.running.stream_file import public_facts, stream_contents


def run_init(args: Namespace) -> None:
    """Begin a stream: check, charge, write the state."""
    budget.check_of_ledgers(args)
    begun = Path(args.state).exists()
    if begun:
        say(f"{args.state} exists already: it is gone on from, and not charged again")
    streams.check_files(args)
    if not begun:
        whose = {"user": "user" if args.unit == "user" else None}
        cost = whole_cost(args.epsilon, args.delta or 0)
        budget.check_budget(Namespace(**{**vars(args), **whose}), cost)
    metric = inputs.read_universe(args)
    asked = ["horizon", "unit", "window", "half_life", "max_contributions", "recourse"]
    asked += ["records_hint", "parts", "seed"]
    options = {name: getattr(args, name) for name in asked}
    with budget.paying(args) as ledger:
        options |= {"ledger": ledger, "path": args.state}
        stream = mdp.Stream(metric, args.epsilon, args.delta or 0, **options)
    budget.say_expense(args, stream.receipt, ledger)
    tables.show(args, stream.to_dict())


def run_step(args: Namespace) -> None:
    """Step one day: check, count, report."""
    parsing.check_columns(args)
    streams.check_files(args, read=("state", "ledger"))
    settings = stream_contents(Path(args.state))[0]["settings"]
    users = settings["unit"] == "user"
    parsing.check_unit(args, users, "stream")
    metric = inputs.read_universe(args)
    inputs.check_k(args, metric)
    ledger = None if args.ledger is None else mdp.Ledger.open(args.ledger)
    stream = mdp.Stream.open(args.state, metric, ledger=ledger)
    args.max_contributions = settings["max_contributions"] if users else None
    release = stream.step(inputs.read_demand(args, metric), day=args.day)
    if args.save_release is not None:
        release.save(args.save_release)
    facts: dict[str, Any] = {"day": args.day, "days": release.day}
    if args.k is not None:
        found = stream.k_median(args.k)
        facts |= {"centers": found.result.to_dict()["centers"], "k": args.k}
        facts |= {"moved": found.moved, "alarm": found.alarm}
        if found.alarm:
            note("alarm: the demand has changed by more than the centers may move in a day")
    tables.show(args, {**facts, "receipt": release.receipt.to_dict()}, written=args.output)


def run_show(args: Namespace) -> None:
    """Print the public part of the state; with ``--html``, write a page."""
    facts = public_facts(Path(args.state))
    if args.html is None:
        if args.graph is not None or args.k is not None:
            raise UsageError("GRAPH and -k are for the page: give --html FILE too")
    else:
        if args.graph is None:
            raise UsageError("--html draws the network: give GRAPH too, as for init")
        streams.check_files(args, read=("state",))
        known = {int(k): answers[-1]["day"] for k, answers in facts["centers"].items() if answers}
        if not known or (args.k is not None and args.k not in known):
            some = ", ".join(map(str, sorted(known))) or "none"
            raise UsageError(f"-k: the centers that were asked for in steps are, in number: {some}")
        k = args.k or max(known, key=lambda number: (known[number], number))
        metric = inputs.read_universe(args)
        stream = mdp.Stream.open(args.state, metric)
        texts = {"title": args.title, "attribution": args.attribution}
        page = days_page(metric, stream.history(k), receipt=stream.receipt, **texts)
        streams.write_text(args.html, page)
        note(f"wrote {args.html}")
    tables.show(args, facts)
