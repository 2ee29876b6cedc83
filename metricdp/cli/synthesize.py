"""``metricdp synthesize``: points that look like the demand, from a paid release."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from metricdp.cli import inputs, parsing, streams, tables
from metricdp.cli.streams import say

_EPILOG = """\
examples:
  metricdp cluster roads.csv --demand homes.csv -k 20 --epsilon 1 \\
      --save-release homes.release
  metricdp synthesize roads.csv --from-release homes.release -n 1000 \\
      --output points.geojson

Stdout gets {"points": [...], "n": ..., "receipt": {...}}, with --output only {"n": ..., "receipt":
{...}}. Points are vertices of the public graph, drawn by the released weights; CSV and Parquet have
the columns vertex, and lon and lat or x and y where the graph has coordinates. All of it is
computed from the release, so it costs nothing, however often."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "synthesize",
        usage="metricdp synthesize GRAPH --from-release FILE -n N [--output FILE] [option ...]",
        help="synthetic points on the network from a release: free, safe to publish",
        description="Draw synthetic points on a public graph from a private release of the demand, "
        "to be published\n"
        "in place of jittered ones: the release's guarantee holds for them, at no further cost.",
        epilog=_EPILOG,
    )
    parsing.add_graph_options(parser)
    group = parser.add_argument_group("the points")
    earlier = "a release that `metricdp cluster --save-release` wrote"
    group.add_argument("--from-release", metavar="FILE", required=True, help=earlier)
    many = "number of points"
    group.add_argument(
        "-n", metavar="N", type=parsing.whole_number(1, 10**8), required=True, help=many
    )
    coins = "public coins, for the same points again (default: fresh ones)"
    group.add_argument("--seed", metavar="S", type=parsing.whole_number(0), help=coins)
    kinds = "write the points as .csv, .geojson or .parquet (GeoParquet), by the ending"
    group.add_argument("--output", metavar="FILE", help=kinds)
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Check, read, draw, write."""
    import metricdp as mdp
    from metricdp.report.layers import crs_of
    from metricdp.report.point_files import checked_ending

    streams.check_stdout([args.output])
    given = {"GRAPH": args.graph, "--nodes": args.nodes, "--from-release": args.from_release}
    streams.check_targets({"--output": args.output}, given)
    metric = inputs.read_metric(args)
    if args.output is not None:
        checked_ending(args.output, metric.coordinates, "synthetic sample", crs_of(metric))
    release = mdp.Release.load(args.from_release, metric)
    points = release.sample(args.n, args.seed)
    told: dict[str, Any] = {"n": len(points), "receipt": points.receipt.to_dict()}
    if args.output is None:
        told = {"points": list(points), **told}
    else:
        points.save(args.output)
    tables.show(args, told)
    if args.output is not None and not args.quiet:
        say(f"wrote {args.output}")
    return 0
