"""``metricdp stream``: one budget, a private release of the present every day."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import metricdp as mdp
from metricdp.cli import budget, inputs, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say
from metricdp.privacy.continual import whole_cost
from metricdp.report import write_days
from metricdp.running.stream_file import opened, public_facts


def run_init(args: Namespace) -> int:
    """Check, charge, write the state."""
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
