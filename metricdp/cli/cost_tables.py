"""Tables of costs, sites × clients, as the universe of a command: ``--format costs``."""

from __future__ import annotations

from argparse import Namespace

import metricdp as mdp
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import note
from metricdp.errors import InputError

NAME = "costs"
"""What ``--format`` calls them."""
_GRAPHS: tuple[str, ...] = ("nodes", "layer", "crs", "topology", "symmetrize", "directed")
_GRAPHS += ("direction", "largest_component")
_OPTIONS = {"sites=, clients=": "--source, --target", "cost=": "--weight"}
_OPTIONS |= {"unreachable=": "--unreachable"}
"""What the command line calls arguments that messages name."""


def read_costs(args: Namespace) -> mdp.CostTable:
    """The table, as a `metricdp.CostTable`: a long one, or a matrix; say on stderr what it is."""
    for name in _GRAPHS:
        if getattr(args, name):
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is about graphs: of no use with --format {NAME}")
    if args.map is not None or args.tree is not None:
        option = "--tree" if args.map is None else "--map"
        raise UsageError(f"{option} needs a graph: of no use with --format {NAME}")
    options = {"cost": args.weight, "unreachable": args.unreachable}
    try:
        table = mdp.CostTable(args.graph, args.source, args.target, **options)
    except InputError as error:
        refused = str(error)
        for argument, option in _OPTIONS.items():
            refused = refused.replace(f"({argument})", f"({option})")
        raise InputError(f"{args.graph}: {refused.removeprefix(f'{args.graph}: ')}") from None
    note(f"read {args.graph}: costs of {len(table.sites):,} sites × {len(table):,} clients")
    return table
