"""``metricdp demo``: the main job on the sample road network, and what to try next."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import metricdp as mdp
from metricdp.cli import build_parser, inputs, streams, tables
from metricdp.cli.streams import say
from metricdp.errors import InputError
from metricdp.universe.samples import sample_path

GRAPH = "coquimbo.csv.gz"
NODES = "coquimbo_nodes.csv.gz"
DEMAND = "coquimbo_demand.csv.gz"
RESULT = "coquimbo_centers.json"
PAGE = "coquimbo_map.html"


def run(args: Namespace) -> None:
    """Run the sample through the same steps as ``metricdp cluster``."""

    demand = str(sample_path(DEMAND))
    folder = Path(args.directory)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--directory {folder} is not a directory")
    options = sample(demand)
    options.quiet = args.quiet
    metric = inputs.read_metric(options)
    if args.k > len(metric):
        raise InputError(f"-k {args.k}: {metric.name} has only {len(metric):,} vertices")
    folder.mkdir(parents=True, exist_ok=True)
    files = {"the result": str(folder / RESULT), "the map": str(folder / PAGE)}
    streams.check_targets(dict(files), {})
    if not args.quiet:
        say(f"finding {args.k:,} centers for the records of {DEMAND} (synthetic) …")
    result = mdp.k_median(
        metric, inputs.read_demand(options, metric), args.k, epsilon=args.epsilon or "1"
    )
    streams.show_result(tables.of_centers(result))
    written = _files(result, files)
    streams.show_result(_ending(written, options))


def sample(demand: str) -> Namespace:
    """The options by which ``metricdp cluster`` reads the sample graph, and a demand."""
    graph, nodes = (str(sample_path(name)) for name in (GRAPH, NODES))
    asked = ["cluster", graph, "--nodes", nodes, "--demand", demand]
    return build_parser().parse_args([*asked, "--symmetrize", "--largest-component"])


def _files(result: Any, files: dict[str, str]) -> list[tuple[str, str]]:
    """Write the result and the map; return what was written and what it is."""
    streams.write_text(files["the result"], streams.to_json(result.to_dict()))
    page = result.page(attribution="Roads © OpenStreetMap contributors (ODbL)")
    streams.write_text(files["the map"], page)
    return [
        (files["the result"], "the centers and the receipt, as `metricdp cluster` writes them"),
        (files["the map"], "the map: open it in a browser, it needs no network"),
    ]


def _ending(written: list[tuple[str, str]], options: Namespace) -> str:
    width = max(len(path) for path, _ in written)
    lines = ["", "wrote", *(f"  {path:<{width}}  {what}" for path, what in written)]
    own = "metricdp" if shutil.which("metricdp") else f"{shlex.quote(sys.executable)} -m metricdp"
    if own != "metricdp" and Path(sys.argv[0]).name == "metricdp":  # .venv/bin/metricdp
        own = _short(sys.argv[0])
    graph = (
        f"{_short(options.graph)} --nodes {_short(options.nodes)} --symmetrize --largest-component"
    )
    demand = f"--demand {_short(options.demand)}"
    result = Path(written[0][0])
    ledger = shlex.quote(str(result.parent / "coquimbo.ledger"))
    lines += [
        "",
        "what to try next",
        "  # how good are they? (exact, so not private)",
        f"  {own} evaluate {graph} {demand} --centers {shlex.quote(str(result))}",
        "  # two questions on one budget, kept in a journal; a third is refused",
        f"  {own} cluster {graph} {demand} -k 5 --epsilon 1/2 --ledger {ledger} --epsilon-budget 1",
        "  # the same without private data: the road network itself",
        f"  {own} cluster {graph} -k 20",
        "  # your own: a graph and a file with a column of vertex ids",
        f"  {own} cluster --help",
    ]
    return "\n".join(lines) + "\n"


def _short(path: str) -> str:
    """The path as typed from here, quoted for a shell."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        relative = path
    return shlex.quote(min(relative, path, key=len))
