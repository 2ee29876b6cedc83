"""``metricdp synthesize``: synthetic points from a saved release."""

from argparse import Namespace
from typing import Any

import metricdp as mdp
from metricdp.cli import inputs, streams, tables
from metricdp.cli.streams import note
from metricdp.report.layers import crs_of
from metricdp.report.point_files import checked_ending


def run(args: Namespace) -> None:
    """Check, read, sample, write."""
    streams.check_files(args)
    metric = inputs.read_metric(args)
    if args.output is not None:
        checked_ending(args.output, metric.coordinates, "synthetic sample", crs_of(metric))
    release = mdp.Release.load(args.from_release, metric)
    points = release.sample(args.n, args.seed)
    facts: dict[str, Any] = {"n": len(points), "receipt": points.receipt.to_dict()}
    if args.output is None:
        facts = {"points": list(points), **facts}
    else:
        points.save(args.output)
    tables.show(args, facts)
    if args.output is not None:
        note(f"wrote {args.output}")
