"""``metricdp decode``: centers from the messages of a local collection."""

import sys
import time
from argparse import Namespace

import numpy as np

from metricdp.cli import inputs, streams, tables
from metricdp.cli.demo import DEMAND, sample
from metricdp.cli.parsing import UsageError, given
from metricdp.cli.streams import note
from metricdp.local import Decoder, PublicParameters, public_parameters, simulated_messages
from metricdp.local.decoder import LocalEstimate
from metricdp.methods.question import Result
from metricdp.metrics.base import Metric
from metricdp.solvers.kmedian import solve
from metricdp.universe.samples import sample_path
from metricdp.universe.tables import read_table

_DEMO_USERS = 1_000_000
"""Simulated users by default."""


def run(args: Namespace) -> int:
    """Decode messages, or simulate them."""
    if args.demo == (args.parameters is not None):
        raise UsageError("give --parameters FILE, or --demo")
    if args.demo and args.graph is not None:
        raise UsageError("--demo brings its own graph")
    idle = given(args, ("messages",) if args.demo else ("users", "epsilon"))
    if idle:
        made = "--demo makes messages of its own" if args.demo else "it is for --demo"
        raise UsageError(f"{idle[0]} is of no use here: {made}")
    streams.check_files(args)
    return _demo(args) if args.demo else _decode(args)


def _decode(args: Namespace) -> int:
    decoder = Decoder(PublicParameters.load(args.parameters))
    metric = None if args.graph is None else inputs.read_metric(args)
    if (metric is None) == (decoder.items.dimension == 0):
        raise UsageError("parameters of a graph need GRAPH, those of points none")
    estimate = decoder.fit(sys.stdin if args.messages is None else args.messages)
    return _show(args, estimate, _solved(args, estimate, metric))


def _solved(args: Namespace, estimate: LocalEstimate, metric: Metric | None) -> Result:
    ask = estimate.k_median if args.objective == "k-median" else estimate.k_means
    return ask(args.k, metric=metric, seed=args.seed)


def _show(args: Namespace, estimate: LocalEstimate, result: Result, **more: float) -> int:
    if estimate.rejected:
        note(f"left out {estimate.rejected:,} lines that are no messages of these parameters")
    counted = {"messages": estimate.n_messages, "rejected": estimate.rejected} | more

    def table() -> str:
        return f"{tables.of_centers(result)}\n{tables.of_facts(counted)}"

    tables.show(args, result.to_dict() | counted, table, args.output)
    return 0


def _demo(args: Namespace) -> int:
    """Decode the messages of simulated users, drawn with replacement from the sample's demand."""
    metric = inputs.read_metric(sample())
    n, epsilon = args.users or _DEMO_USERS, args.epsilon or "1"
    start = time.perf_counter()
    ids = read_table(sample_path(DEMAND)).ids("vertex")
    users = np.random.default_rng(args.seed).choice(metric.positions(ids), n)
    parameters = public_parameters(metric, epsilon, users=n, k=args.k)
    messages = simulated_messages(parameters, [metric.ids[i] for i in users], seed=args.seed)
    sent = f"{n:,} simulated users sent {parameters.message_bytes} bytes each"
    note(f"{sent}, epsilon {epsilon} ({time.perf_counter() - start:.1f} s)")
    start = time.perf_counter()
    estimate = Decoder(parameters).fit(messages)
    result = _solved(args, estimate, metric)
    note(f"decoded and solved ({time.perf_counter() - start:.1f} s)")
    power = 1 if args.objective == "k-median" else 2
    weights = np.bincount(users, minlength=len(metric)).astype(np.float64)
    cost = float(weights @ metric.nearest(result.centers)[1] ** power)
    best = solve(metric, weights, args.k, power=power, starts=3).cost
    return _show(args, estimate, result, cost_over_non_private=round(cost / best, 4))
