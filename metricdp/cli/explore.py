"""``metricdp explore``: several privacy levels on one page, charged together."""

from argparse import Namespace
from collections.abc import Hashable
from fractions import Fraction
from pathlib import Path

import numpy as np

import metricdp as mdp
from metricdp.atomic import durable_file, whole_file
from metricdp.cli import budget, inputs, objectives, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import note, say
from metricdp.interruption import held
from metricdp.metrics.base import Metric
from metricdp.running.planning import checked_epsilons


def run(args: Namespace) -> None:
    """Check, read, charge once, release, write."""
    names = _check(args)
    priced = _together(args)
    price = mdp.methods.method_of(args.method).price(priced.epsilon, priced.delta or 0)
    budget.check_budget(priced, price)
    if args.dry_run:
        _dry_run(args, priced)
        return
    metric = inputs.read_metric(args)
    demand = inputs.read_demand(args, metric)
    options = {name: getattr(args, name) for name in ("method", "objective", "records", "repeats")}
    options |= {"delta": args.delta or 0, "names": names, "seed": args.seed}
    options |= {"administrator": _plain(args, metric)}
    options |= {"expected": objectives.expected(args, metric)}
    written = False
    try:
        with budget.paying(priced) as ledger, held(budget.report_interruption):  # to the page
            levels = mdp.explore(metric, demand, args.epsilons, args.k, ledger=ledger, **options)
            facts = {**levels.to_dict(), "page": args.output}
            tables.show(args, facts, lambda: tables.of_levels(levels))
            page = levels.page(args.title, attribution=args.attribution)
            # with centers without privacy, only the owner may read the file
            atomic = durable_file if args.administrator else whole_file
            with atomic(Path(args.output)) as file:
                file.write(page.encode())
            written = True
    except KeyboardInterrupt as stopped:
        if written:
            stopped.add_note(f"{args.output} holds all levels that were paid for")
        raise
    budget.say_expense(args, levels.receipt, ledger)
    note(f"wrote {args.output}")


def _check(args: Namespace) -> list[str] | None:
    """Refuse bad options before anything is read; return the names of the levels."""
    parsing.check_columns(args)
    checked_epsilons(args.epsilons)
    if args.output is None and not args.dry_run:
        needed = "the page is the result (or --dry-run for the price alone)"
        raise UsageError(f"--output PAGE is needed: {needed}")
    budget.check_options(args)
    names = None if args.names is None else [name.strip() for name in args.names.split(",")]
    if names is not None and (len(names) != len(args.epsilons) or not all(names)):
        texts = f"{len(args.epsilons)} texts with commas between them"
        raise UsageError(f"--names must be {texts}, one for each of --epsilons")
    objectives.check_method(args, releases=True)
    streams.check_files(args)
    return names


def _together(args: Namespace) -> Namespace:
    """The arguments, with the price of all levels together as epsilon and delta."""
    method = mdp.methods.method_of(args.method)
    prices = [method.price(epsilon, args.delta or 0) for epsilon in args.epsilons]
    epsilon = sum((p.epsilon for p in prices), Fraction(0))
    delta = sum((p.delta for p in prices), Fraction(0))
    total = f"{' + '.join(args.epsilons)} = {float(epsilon):g}"
    if len(prices) > 1:
        note(f"{len(prices)} levels, shown together, are charged together: epsilon {total}")
    paid = {"epsilon": str(epsilon), "delta": str(delta) if delta else None}
    return Namespace(**{**vars(args), **paid})


def _dry_run(args: Namespace, priced: Namespace) -> None:
    facts = {"levels": args.epsilons, "epsilon": float(Fraction(priced.epsilon))}
    facts |= {"epsilon_exact": priced.epsilon, "delta": float(Fraction(priced.delta or 0))}
    tables.show(args, facts | {"charged": False, "ledger": args.ledger})
    holds = f"; {args.ledger} holds it" if args.ledger else ""
    note(f"dry run: the demand was not read and nothing was charged{holds}")


def _plain(args: Namespace, metric: Metric) -> list[Hashable] | None:
    """The records in the clear with ``--administrator``, else None."""
    inputs.check_k(args, metric)
    if not args.administrator:
        return None
    shows = f"{args.output} shows centers without privacy"
    say(f"warning: --administrator: {shows}: do not publish it, it may reveal the demand")
    counts = inputs.read_as_weights(args, metric).astype(np.int64)
    return [metric.ids[i] for i in np.repeat(np.arange(len(metric)), counts).tolist()]
