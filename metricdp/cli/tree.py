"""``metricdp tree``: the public tree of a graph, built once and kept."""

from __future__ import annotations

import time
from argparse import Namespace

from metricdp.cli import inputs, parsing, streams, tables
from metricdp.cli.streams import say

_EPILOG = """\
example:
  metricdp tree roads.csv --output roads.hst.npz

Stdout gets {"output": ..., "points": ..., "nodes": ..., "levels": ..., "diameter_bound": ...,
"seed": ..., "beta": ..., "universe": ...}; universe is the checksum by which the file knows its
graph. Nothing private takes part: the tree costs no epsilon, may be published, and serves any
number of demands. In Python: metricdp.HST.load(file, metric)."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "tree",
        usage="metricdp tree GRAPH --output FILE [--seed S] [option ...]",
        help="build the public 2-HST of a graph once, for reuse",
        description="Build the 2-HST of a public graph and write it to a file: a random tree "
        "in which every two vertices are\n"
        "at least as far apart as in the graph, and in expectation O(log n) times as far at most.",
        epilog=_EPILOG,
    )
    parsing.add_graph_options(parser)
    group = parser.add_argument_group("the tree (public)")
    group.add_argument(
        "--output",
        metavar="FILE",
        required=True,
        help="the tree, as NumPy's npz; an existing file is replaced",
    )
    coins = "public coins; the same graph and seed give the same tree (default: %(default)s)"
    group.add_argument("--seed", metavar="S", type=parsing.whole_number(0), default=0, help=coins)
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Check, read, build, write the file, and only then tell about it."""
    start = time.perf_counter()
    streams.check_targets({"--output": args.output}, {"GRAPH": args.graph, "--nodes": args.nodes})
    metric = inputs.read_metric(args)
    from metricdp.partitions.finite.hst import build_hst

    tree = build_hst(metric, args.seed)
    tree.save(args.output)
    if not args.quiet:
        say(f"wrote {args.output}, done in {time.perf_counter() - start:.1f} s")
    figures = {
        "points": tree.n_points,
        "nodes": tree.n_nodes,
        "levels": tree.n_levels,
        "diameter_bound": float(2 * tree.heights[0]),
    }
    coins = {"seed": tree.seed, "beta": tree.beta, "universe": tree.universe_checksum}
    told = {"output": args.output} | figures | coins
    tables.show(args, told)
    return 0
