"""``metricdp decode``: centers from the messages of one round."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from typing import Any

from metricdp.cli import inputs, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say

_EPILOG = """\
examples:
  metricdp decode roads.csv --parameters public.json -k 10 \\
      --messages messages.jsonl
  metricdp decode --demo  # 10^6 simulated users on the sample network

Messages are JSON lines as `metricdp encode` writes them; they are read once, in memory that does
not grow with their number. What is no message of these parameters is left out and counted. Stdout
gets the result as of `metricdp cluster`, with "messages" and "rejected"; the same messages may be
decoded again, for any k, at no further cost."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "decode",
        usage="metricdp decode [GRAPH] --parameters FILE -k K [--messages FILE] [option "
        "...]\n       metricdp decode --demo [--users N]",
        help="one round without a trusted curator: centers from users' messages",
        description="Estimate where the users of `metricdp encode` are, from their randomized "
        "messages alone, and find\n"
        "centers. GRAPH is the one that the parameters were made for; points of R^d need none.",
        epilog=_EPILOG,
    )
    parsing.add_graph_options(parser, required=False)
    group = parser.add_argument_group("the messages")
    group.add_argument(
        "--parameters", metavar="FILE", help="the public parameters that they were encoded by"
    )
    group.add_argument("--messages", metavar="FILE", help="JSON lines (default: stdin)")
    group = parser.add_argument_group("the question")
    group.add_argument(
        "-k",
        type=parsing.whole_number(1),
        default=10,
        metavar="K",
        help="number of centers (default: %(default)s)",
    )
    parsing.add_objective(group)
    group.add_argument(
        "--seed",
        metavar="S",
        type=parsing.whole_number(0),
        default=0,
        help="public coins of the solver (default: 0)",
    )
    group.add_argument("--output", metavar="FILE", help="also write the result there")
    group = parser.add_argument_group("the demonstration")
    group.add_argument(
        "--demo",
        action="store_true",
        help="simulate users on the sample network, encode, decode and compare",
    )
    group.add_argument(
        "--users",
        metavar="N",
        type=parsing.whole_number(1),
        default=1_000_000,
        help="how many (default: 1,000,000)",
    )
    group.add_argument(
        "--epsilon",
        metavar="E",
        type=parsing.budget,
        default="1",
        help="of each message (default: %(default)s)",
    )
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run, demand="messages: tell nothing of them")


def run(args: Namespace) -> int:
    """Read messages, or make them up."""
    if args.demo == (args.parameters is not None):
        raise UsageError("give --parameters FILE, or --demo")
    if args.demo and args.graph is not None:
        raise UsageError("--demo brings its own graph")
    streams.check_stdout([args.output])
    streams.check_targets(
        {"--output": args.output},
        {name: getattr(args, name) for name in ("parameters", "messages", "graph", "nodes")},
    )
    return _demo(args) if args.demo else _decode(args)


def _decode(args: Namespace) -> int:
    from metricdp.local import Decoder, PublicParameters

    decoder = Decoder(PublicParameters.load(args.parameters))
    metric = None if args.graph is None else inputs.read_metric(args)
    if (metric is None) == (decoder.items.dimension == 0):
        raise UsageError("parameters of a graph need GRAPH, those of points none")
    estimate = decoder.fit(sys.stdin if args.messages is None else args.messages)
    ask = estimate.k_median if args.objective == "k-median" else estimate.k_means
    return _show(args, estimate, ask(args.k, metric=metric, seed=args.seed))


def _show(args: Namespace, estimate: Any, result: Any, **more: Any) -> int:
    if estimate.rejected and not args.quiet:
        say(f"left out {estimate.rejected:,} lines that are no messages of these parameters")
    counted = {"messages": estimate.n_messages, "rejected": estimate.rejected} | more
    told = result.to_dict() | counted
    tables.show(args, told, lambda: _table(result, counted))
    if args.output is not None:
        streams.write_text(args.output, streams.to_json(told))
    return 0


def _table(result: Any, counted: dict[str, Any]) -> str:
    return f"{tables.of_centers(result)}\n{tables.of_facts(counted)}"


def _demo(args: Namespace) -> int:
    """Simulated users, drawn with repeats from the sample's synthetic demand and encoded."""
    import numpy as np

    from metricdp.cli.demo import DEMAND, GRAPH, NODES
    from metricdp.local import Decoder, public_parameters, simulated_messages
    from metricdp.universe.samples import sample_path
    from metricdp.universe.tables import read_table

    vars(args).update(
        graph=str(sample_path(GRAPH)),
        nodes=str(sample_path(NODES)),
        symmetrize=True,
        largest_component=True,
        format=None,
        weight=None,
        source=None,
        target=None,
    )
    metric = inputs.read_metric(args)
    start = time.perf_counter()
    ids = read_table(str(sample_path(DEMAND))).ids("vertex")
    users = np.random.default_rng(args.seed).choice(metric.positions(ids), args.users)
    parameters = public_parameters(metric, args.epsilon, users=args.users, k=args.k)
    messages = simulated_messages(parameters, [metric.ids[i] for i in users], seed=args.seed)
    if not args.quiet:
        seconds = time.perf_counter() - start
        say(
            f"{args.users:,} simulated users sent {parameters.message_bytes} bytes each, epsilon "
            f"{args.epsilon} ({seconds:.1f} s)"
        )
    start = time.perf_counter()
    estimate = Decoder(parameters).fit(messages)
    ask = estimate.k_median if args.objective == "k-median" else estimate.k_means
    result = ask(args.k, metric=metric, seed=args.seed)
    if not args.quiet:
        say(f"decoded and solved ({time.perf_counter() - start:.1f} s)")
    power = 1 if args.objective == "k-median" else 2
    from metricdp.solvers.kmedian import solve

    weights = np.bincount(users, minlength=len(metric)).astype(np.float64)
    cost = float(weights @ metric.nearest(result.centers)[1] ** power)
    return _show(
        args,
        estimate,
        result,
        cost_over_non_private=round(
            cost / solve(metric, weights, args.k, power=power, starts=3).cost, 4
        ),
    )
