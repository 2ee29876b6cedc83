"""``metricdp tree``: builds and saves the public tree of a graph."""

import time
from argparse import Namespace

from metricdp.cli import inputs, streams, tables
from metricdp.cli.streams import note
from metricdp.partitions.finite.hst import build_hst


def run(args: Namespace) -> None:
    """Check, read, build, write the file, then report."""
    start = time.perf_counter()
    streams.check_files(args)
    metric = inputs.read_metric(args)
    tree = build_hst(metric, args.seed)
    tree.save(args.output)
    note(f"wrote {args.output}, done in {time.perf_counter() - start:.1f} s")
    sizes = {"points": tree.n_points, "nodes": tree.n_nodes, "levels": tree.n_levels}
    bound = {"diameter_bound": float(2 * tree.heights[0])}
    coins = {"seed": tree.seed, "beta": tree.beta, "universe": tree.universe_checksum}
    tables.show(args, {"output": args.output} | sizes | bound | coins)
