"""Reads a command's inputs: the public graph, and the demand."""

import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

import metricdp as mdp
from metricdp import errors
from metricdp.arguments import Floats
from metricdp.cli.parsing import OF_GRAPHS, UsageError, as_option, given
from metricdp.cli.streams import note
from metricdp.errors import GraphFileError, InputError
from metricdp.metrics import GraphMetric, Metric
from metricdp.metrics.graph import read_graph
from metricdp.privacy import PrivateDemand
from metricdp.privacy.evaluation import exact_counts
from metricdp.progress import doing
from metricdp.records.engines.embedded import check_lasting
from metricdp.records.engines.geographic import is_geographic
from metricdp.records.engines.opening import opened
from metricdp.universe.crs import WGS84, described

DATASET = "dataset:"
"""Prefix of the name of a data set, in place of a graph's path."""
WEIGHT = "weight"
"""Column of ``--weights``, and of coresets."""
COSTS = "costs"
"""Value of ``--format`` for cost tables."""
_OF_TABLES = ("format", "weight", "source", "target")
"""Options with which a cost table is read too."""


def read_universe(args: Namespace) -> Any:
    """The graph or, with ``--format costs``, the cost table."""
    if args.format == COSTS:
        table = read_costs(args)
        _label(table, args)
        return table
    if args.unreachable is not None:
        raise UsageError(f"--unreachable is for --format {COSTS}")
    return read_metric(args)


def read_metric(args: Namespace) -> GraphMetric:
    """The graph of a file or ``dataset:NAME``; its facts are reported on stderr."""
    if args.format == COSTS:
        raise UsageError(f"--format {COSTS} is for metricdp cluster and stream")
    path = args.graph
    doing(f"reading {Path(path).name}")
    options = {name: getattr(args, name) for name in OF_GRAPHS if hasattr(args, name)}
    if options.get("topology") is None:
        options.pop("topology", None)
    if path.startswith(DATASET):
        known = mdp.datasets.describe(path.removeprefix(DATASET))
        if known.edges == 0:
            raise UsageError(f"{known.name} is a set of points, not a graph (mdp.datasets.load)")
        usual = dict(known.read)
        if options["directed"]:
            usual.pop("symmetrize", None)
        path = mdp.datasets.fetch(known.name)
        options = {**options, **usual}
    try:
        metric = mdp.read_graph(path, **options)
    except InputError as error:
        raise all_at_once(path, options, error) from None
    _label(metric, args)
    graph, unit = metric.graph, metric.measured_in
    lengths = f", lengths: {graph.measured}" if graph.measured else ""
    lengths += f" ({unit})" if unit and not lengths.endswith("in meters") else ""
    size = f"{len(metric):,} vertices, {graph.edges_in_words}"
    note(f"read {metric.name}: {size}, {_places(metric)}{lengths}")
    if graph.left_out:
        kept = f"{len(metric):,} of {len(metric) + graph.left_out:,} vertices"
        note(f"kept the largest component: {kept}, {graph.left_out:,} left out")
    if graph.asymmetry is not None:
        note(f"symmetrized: {graph.asymmetry} (--directed keeps directions)")
    doing("computing")
    return metric


def check_k(args: Namespace, metric: Metric) -> None:
    """Refuse more centers than there are possible sites."""
    if args.k is not None and args.k > len(metric.sites):
        what = "vertices" if metric.sites is metric.ids else "sites"
        raise InputError(f"-k {args.k}: {metric.name} has only {len(metric.sites):,} {what}")


def _label(metric: Any, args: Namespace) -> None:
    """Set the universe's name and unit from ``--name`` and ``--measured-in``."""
    for name in ("name", "measured_in"):
        if getattr(args, name, None) is not None:
            setattr(metric, name, getattr(args, name))


def _places(metric: GraphMetric) -> str:
    """Kind and coverage of the vertices' coordinates, as text."""
    plain = {"lonlat": "longitude and latitude", "xy": "planar coordinates", None: "no coordinates"}
    known = plain[metric.coordinate_system]
    if metric.coordinates is not None:
        placed = len(metric) - int(np.isnan(metric.coordinates).any(axis=1).sum())
        known += f" of {placed:,} of them" if placed < len(metric) else ""
    return known if metric.crs in (None, WGS84) else f"{known}, {described(metric.crs)}"


def read_demand(args: Namespace, metric: Metric) -> PrivateDemand:
    """The private demand; nothing about it is reported."""
    if args.x is not None and metric.coordinates is None:
        raise InputError(
            f"--x and --y need coordinates, and {metric.name} has none: give them with --nodes FILE"
        )
    check_lasting(args.demand)
    snapped = args.x is not None or (args.demand_column is None and is_geographic(args.demand))
    if snapped and args.max_snap is None and args.box is None:
        far = "a record of another town counts at the nearest vertex, however far that is"
        note(f"note: {far}; --max-snap 2km leaves it out, --box refuses it")
    _note_on_weights(args)
    doing("reading the demand")
    asked = ("x", "y", "max_snap", "box", "engine", "user", "max_contributions", "weighting")
    given = {name: getattr(args, name, None) for name in asked}
    options = {name: value for name, value in given.items() if value is not None}
    options |= {"layer": args.demand_layer, "crs": args.demand_crs}
    if getattr(args, "caps", None) is not None:
        options["caps"] = mdp.Caps(*args.caps)
    return mdp.PrivateDemand.from_frame(metric, args.demand, args.demand_column, **options)


def _note_on_weights(args: Namespace) -> None:
    """Note that a column of weights, which a file of public demand has, is not read."""
    column = args.demand_column or args.x or "vertex"
    if getattr(args, "engine", None) in (None, "embedded") and not is_geographic(args.demand):
        columns = opened(args.demand, asked=[column]).columns
        if WEIGHT in columns and WEIGHT not in (column, args.y, getattr(args, "user", None)):
            rule = "each row is one record; public weights are for metricdp cluster --weights"
            note(f"note: the column {WEIGHT!r} of {args.demand} is not read: {rule}")


def read_as_weights(args: Namespace, metric: Metric) -> Floats:
    """The number of records at each point, without privacy; messages quote no cell."""
    bounds = dict.fromkeys(("user", "max_contributions", "weighting", "caps"))
    every = Namespace(**{**vars(args), **bounds})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return exact_counts(read_demand(every, metric)).astype(np.float64)


def all_at_once(path: str | Path, options: dict[str, Any], first: InputError) -> InputError:
    """One error that names all options that a graph needs: each is added and the graph read again,
    until it is accepted. `first` if only one is needed.
    """
    needed: list[str] = []
    tried = dict(options)
    error: InputError | None = first
    while error is not None and len(needed) < 4 and (option := _remedy(error, tried)):
        needed.append(option)
        try:
            read_graph(path, **tried)
            error = None
        except InputError as next_one:
            error = next_one
    if len(needed) < 2:
        return first
    return GraphFileError(path, f"needs {len(needed)} more options: {'; '.join(needed)}")


def _remedy(error: InputError, options: dict[str, Any]) -> str | None:
    """The option that avoids an error, as text, after it was set in `options`; None if unknown."""
    if isinstance(error, errors.DirectedGraphError) and not options["symmetrize"]:
        options["symmetrize"] = True
        both = "--symmetrize to use the shorter direction both ways"
        return f"--directed, or {both} ({error.unmatched:,} arcs are one-way)"
    if isinstance(error, errors.ShatteredGraphError):
        return None
    if isinstance(error, errors.DisconnectedGraphError) and not options["largest_component"]:
        options["largest_component"] = True
        sizes = ", ".join(f"{size:,}" for size in error.sizes[:3])
        more = ", …" if len(error.sizes) > 3 else ""
        return f"--largest-component ({len(error.sizes):,} components of {sizes}{more} vertices)"
    message = str(error)
    if "name one (weight=" in message and options["weight"] is None:
        options["weight"] = "unit"
        columns = message.partition("; name one")[0].rpartition(": ")[2]
        return f"--weight COLUMN, one of {columns}, or unit"
    return None


def read_costs(args: Namespace) -> mdp.CostTable:
    """The `metricdp.CostTable` of a long table or a matrix; its size is reported on stderr."""
    for name in OF_GRAPHS:
        if name not in _OF_TABLES and getattr(args, name):
            option = as_option(name)
            raise UsageError(f"{option} is about graphs: of no use with --format {COSTS}")
    for option in given(args, ("map", "tree")):
        raise UsageError(f"{option} needs a graph: of no use with --format {COSTS}")
    options = {"cost": args.weight, "unreachable": args.unreachable}
    try:
        table = mdp.CostTable(args.graph, args.source, args.target, **options)
    except InputError as error:
        refused = str(error).removeprefix(f"{args.graph}: ")
        raise InputError(f"{args.graph}: {refused}") from None
    note(f"read {args.graph}: costs of {len(table.sites):,} sites × {len(table):,} clients")
    return table
