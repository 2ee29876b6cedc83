"""``metricdp explore``: several privacy levels on one page, charged together."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from metricdp.cli import budget, inputs, objectives, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say
from metricdp.errors import InputError
from metricdp.interruption import held

EPSILONS_HELP = "privacy levels, such as 0.1,0.5,1,2 (the default); each is a release of its own"
_EPILOG = """\
examples:
  metricdp explore roads.csv --nodes nodes.csv --demand homes.csv -k 10 \\
      --epsilons 0.1,0.5,1,2 --output page.html
  metricdp explore roads.csv --demand homes.csv --epsilons 1/2,1 -k 10 --dry-run
  metricdp explore roads.csv --demand homes.csv --epsilons 1/2,1 -k 10 \\
      --ledger study.ledger --output page.html

The levels are shown together, so they are charged together: the sum of all epsilons, once, before
any data is read. Stdout gets {"k": ..., "levels": [{"name", "epsilon", "centers", "receipt",
...}], "receipt": {...}, ...}. With --administrator the page also shows centers without privacy:
it must not be published. Stdout never holds them."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "explore",
        usage="metricdp explore GRAPH --demand FILE -k K --output PAGE [--epsilons E,E,...] "
        "[option ...]",
        help="several privacy levels of private demand on one page, charged together",
        description="Release private demand at several privacy levels and write one HTML page "
        "that opens offline: a\n"
        "slider over the levels, the released coreset, centers, territories and predicted "
        "accuracy of each.",
        epilog=_EPILOG,
    )
    parsing.add_graph_options(parser)
    group = parser.add_argument_group("the question (public)")
    add_question(group)
    objectives.add_expected(group)
    guess = (
        "public guess of the number of records, for the predictions (default: the noisy total "
        "that is released)"
    )
    group.add_argument(
        "--records", metavar="N", type=parsing.whole_number(1, 2**31 - 1), help=guess
    )
    predict = (
        "simulated demands of every shape for the predictions; 0: no predictions (default: "
        "%(default)s)"
    )
    group.add_argument(
        "--repeats", metavar="N", type=parsing.whole_number(0, 1000), default=1, help=predict
    )
    group.add_argument(
        "--names", metavar="A,B,...", help="names of the levels, in the order of --epsilons"
    )
    demand = parsing.add_demand_options(parser, required=True)
    whose = "column that says whose record it is: protects users instead of records"
    demand.add_argument("--user", metavar="COLUMN", type=parsing.column, help=whose)
    kept = (
        "records kept of each user, a random sample (default: what the ledger is held to, else 1)"
    )
    demand.add_argument(
        "--max-contributions", metavar="M", type=parsing.whole_number(1, 2**31 - 1), help=kept
    )
    _add_price(parser.add_argument_group("the price"))
    group = parser.add_argument_group("what is written")
    group.add_argument(
        "--output",
        metavar="PAGE",
        help="the page, one HTML file; needed unless --dry-run",
    )
    parsing.add_words_of_page(group)
    unsafe = (
        "show centers without privacy too: for those who hold the data; the page must not be "
        "published"
    )
    group.add_argument("--administrator", action="store_true", help=unsafe)
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run)


def add_question(group: Any) -> None:
    """Add what `explore` and `plan` ask alike."""
    group.add_argument(
        "-k", type=parsing.whole_number(1), required=True, metavar="K", help="number of centers"
    )
    group.add_argument(
        "--epsilons",
        metavar="E,E,...",
        type=epsilon_list,
        default="0.1,0.5,1,2",
        help=EPSILONS_HELP,
    )
    loss = "what each level may spend besides, where it is of use (default: 0)"
    group.add_argument("--delta", metavar="D", type=parsing.delta, help=loss)
    parsing.add_objective(group)
    group.add_argument(
        "--method",
        metavar="NAME",
        default="partition",
        help="as for metricdp cluster (default: %(default)s)",
    )
    coins = "public coins, never of noise (default: %(default)s)"
    group.add_argument("--seed", metavar="S", type=parsing.whole_number(0), default=0, help=coins)


def epsilon_list(text: str) -> list[str]:
    """Budgets written with commas between them, each kept as it is written."""
    return [parsing.budget(part.strip()) for part in text.split(",")]


def check_method(args: Namespace, *, releases: bool) -> None:
    """Refuse an unknown method, or one that releases nothing to show."""
    import metricdp as mdp

    known = mdp.methods.BY_NAME
    fitting = [
        name
        for name in mdp.METHODS
        if known[name].in_finite and (known[name].releases or not releases)
    ]
    if args.method not in fitting:
        raise UsageError(f"--method must be one of {', '.join(fitting)}; got {args.method!r}")


def run(args: Namespace) -> int:
    """Check, read, charge once, release, write."""
    import metricdp as mdp

    names = _check(args)
    priced = _together(args)
    price = mdp.methods.method_of(args.method).price(priced.epsilon, priced.delta or 0)
    budget.check_budget(priced, price)
    if args.dry_run:
        return _dry_run(args, priced)
    metric = inputs.read_metric(args)
    demand = inputs.read_demand(args, metric)
    plain = _plain(args, metric)
    ledger = budget.open_ledger(priced)
    options = {
        "delta": args.delta or 0,
        "method": args.method,
        "objective": args.objective,
        "expected": objectives.expected(args, metric),
        "names": names,
        "records": args.records,
    }
    options |= {"repeats": args.repeats, "administrator": plain, "seed": args.seed}
    with budget.noting_expense(ledger), _naming(args.output), held(budget.told):  # to the page
        levels = mdp.explore(metric, demand, args.epsilons, args.k, ledger=ledger, **options)
        told = {**levels.to_dict(), "page": args.output}
        tables.show(args, told, lambda: tables.of_levels(levels))
        with _owner_only() if args.administrator else nullcontext():
            streams.write_text(args.output, levels.page(args.title, attribution=args.attribution))
    if not args.quiet:
        budget.say_expense(args, levels.receipt, ledger)
        say(f"wrote {args.output}")
    return 0


def _add_price(group: Any) -> None:
    relation = (
        "what changes: one more or less, or one for another (default: the ledger's, else "
        "add-remove)"
    )
    group.add_argument("--neighboring", choices=("add-remove", "replace-one"), help=relation)
    budget.add_ledger_options(
        group,
        total="budget of a new ledger (default: the sum of the levels)",
        loss="delta of a new ledger (default: that of the levels)",
    )
    dry = (
        "say what the levels would cost together, and whether the ledger holds it; read no data, "
        "charge nothing"
    )
    group.add_argument("--dry-run", action="store_true", help=dry)


def _check(args: Namespace) -> list[str] | None:
    """Refuse all that can be refused without reading anything; return the names of the levels."""
    from metricdp.running.planning import checked_epsilons

    parsing.check_columns(args)
    checked_epsilons(args.epsilons)
    if args.output is None and not args.dry_run:
        raise UsageError(
            "--output PAGE is needed: the page is the result (or --dry-run for the price alone)"
        )
    budget.check_options(args)
    names = None if args.names is None else [name.strip() for name in args.names.split(",")]
    if names is not None and (len(names) != len(args.epsilons) or not all(names)):
        raise UsageError(
            f"--names must be {len(args.epsilons)} texts with commas between them, one for each "
            f"of --epsilons"
        )
    check_method(args, releases=True)
    streams.check_stdout([args.output])
    given = {"GRAPH": args.graph, "--nodes": args.nodes, "--demand": args.demand}
    given["--expected"] = args.expected
    streams.check_targets({"--output": args.output, "--ledger": args.ledger}, given)
    return names


def _together(args: Namespace) -> Namespace:
    """The same call with the price of all levels together."""
    import metricdp as mdp

    prices = [
        mdp.methods.method_of(args.method).price(epsilon, args.delta or 0)
        for epsilon in args.epsilons
    ]
    epsilon = sum((p.epsilon for p in prices), Fraction(0))
    delta = sum((p.delta for p in prices), Fraction(0))
    if not args.quiet:
        parts = " + ".join(args.epsilons)
        say(
            f"{len(prices)} levels, shown together, are charged together: epsilon {parts} = "
            f"{float(epsilon):g}"
        )
    return Namespace(
        **{**vars(args), "epsilon": str(epsilon), "delta": str(delta) if delta else None}
    )


def _dry_run(args: Namespace, priced: Namespace) -> int:
    price = {
        "epsilon": float(Fraction(priced.epsilon)),
        "epsilon_exact": priced.epsilon,
        "delta": float(Fraction(priced.delta or 0)),
    }
    told = {"levels": args.epsilons, **price, "charged": False, "ledger": args.ledger}
    tables.show(args, told)
    if not args.quiet:
        say(
            "dry run: the demand was not read and nothing was charged"
            + (f"; {args.ledger} holds it" if args.ledger else "")
        )
    return 0


def _plain(args: Namespace, metric: Any) -> list[Any] | None:
    """The records in plain, where the page is for the administrator alone."""
    if args.k > len(metric):
        raise InputError(f"-k {args.k}: {metric.name} has only {len(metric):,} vertices")
    if not args.administrator:
        return None
    say(
        f"warning: --administrator: {args.output} shows centers without privacy: do not publish "
        f"it, it may reveal the demand"
    )
    import numpy as np

    counts = inputs.read_as_weights(args, metric).astype(np.int64)
    return [metric.ids[i] for i in np.repeat(np.arange(len(metric)), counts).tolist()]


@contextmanager
def _naming(page: str) -> Iterator[None]:
    """Say of an interruption that came in time that the page is there."""
    before = _changed(page)
    try:
        yield
    except KeyboardInterrupt as stopped:
        if _changed(page) != before:
            stopped.add_note(f"{page} holds all levels that were paid for")
        raise


def _changed(page: str) -> int | None:
    """When a file was last written, in nanoseconds; None where there is none."""
    with suppress(OSError):
        return Path(page).stat().st_mtime_ns
    return None


@contextmanager
def _owner_only() -> Iterator[None]:
    """Files made in this block can be read by their owner alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
