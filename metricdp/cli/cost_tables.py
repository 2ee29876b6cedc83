"""Tables of costs, sites × clients, as the universe of a command: ``--format costs``."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import metricdp as mdp
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say
from metricdp.errors import InputError

NAME = "costs"
"""What ``--format`` calls them."""
_GRAPHS = (
    "nodes",
    "layer",
    "crs",
    "topology",
    "symmetrize",
    "directed",
    "direction",
    "largest_component",
)
_OPTIONS = {
    "sites=, clients=": "--source, --target",
    "cost=": "--weight",
    "unreachable=": "--unreachable",
}
"""What the command line calls arguments that messages name."""


def read_costs(args: Namespace) -> Any:
    """The table, as a `metricdp.CostTable`: a long one, or a matrix; say on stderr what it is."""
    for name in _GRAPHS:
        if getattr(args, name):
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is about graphs: of no use with --format {NAME}")
    if args.map is not None or args.tree is not None:
        option = "--tree" if args.map is None else "--map"
        raise UsageError(f"{option} needs a graph: of no use with --format {NAME}")
    refused: str | None = None
    try:
        table = mdp.CostTable(
            args.graph, args.source, args.target, cost=args.weight, unreachable=args.unreachable
        )
    except InputError as error:
        refused = str(error)
    if refused is not None:
        for argument, option in _OPTIONS.items():
            refused = refused.replace(f"({argument})", f"({option})")
        raise InputError(f"{args.graph}: {refused.removeprefix(f'{args.graph}: ')}")
    if not args.quiet:
        say(f"read {args.graph}: costs of {len(table.sites):,} sites × {len(table):,} clients")
    return table
