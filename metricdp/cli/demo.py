"""``metricdp demo``: private clustering of the sample road network, and further commands to try."""

import os
import shlex
import shutil
import sys
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

import metricdp as mdp
from metricdp.cli import build_parser, inputs, streams, tables
from metricdp.cli.streams import note
from metricdp.errors import InputError
from metricdp.universe.samples import sample_path

GRAPH = "coquimbo.csv.gz"
NODES = "coquimbo_nodes.csv.gz"
DEMAND = "coquimbo_demand.csv.gz"
RESULT = "coquimbo_centers.json"
PAGE = "coquimbo_map.html"


def run(args: Namespace) -> None:
    """Run the sample through the same steps as ``metricdp cluster``."""
    folder = Path(args.directory)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--directory {folder} is not a directory")
    options = sample()
    metric = inputs.read_metric(options)
    inputs.check_k(args, metric)
    folder.mkdir(parents=True, exist_ok=True)
    files = Namespace(graph=None, output=str(folder / RESULT), map=str(folder / PAGE))
    streams.check_files(files)
    note(f"finding {args.k:,} centers for the records of {DEMAND} (synthetic) …")
    demand = inputs.read_demand(options, metric)
    result = mdp.k_median(metric, demand, args.k, epsilon=args.epsilon or "1")
    streams.show_result(tables.of_centers(result))
    streams.write_text(files.output, streams.to_json(result.to_dict()))
    page = result.page(attribution="Roads © OpenStreetMap contributors (ODbL)")
    streams.write_text(files.map, page)
    streams.show_result(_ending(files, options))


def sample() -> Namespace:
    """Parsed options of ``metricdp cluster`` for the sample graph and its demand."""
    graph, nodes, demand = (str(sample_path(name)) for name in (GRAPH, NODES, DEMAND))
    asked = ["cluster", graph, "--nodes", nodes, "--demand", demand]
    return build_parser().parse_args([*asked, "--symmetrize", "--largest-component"])


def _ending(files: Namespace, options: Namespace) -> str:
    width = max(len(files.output), len(files.map))
    own = "metricdp" if shutil.which("metricdp") else f"{shlex.quote(sys.executable)} -m metricdp"
    if own != "metricdp" and Path(sys.argv[0]).name == "metricdp":  # .venv/bin/metricdp
        own = _short(sys.argv[0])
    mended = "--symmetrize --largest-component"
    graph = f"{_short(options.graph)} --nodes {_short(options.nodes)} {mended}"
    demand = f"--demand {_short(options.demand)}"
    ledger = shlex.quote(str(Path(files.output).parent / "coquimbo.ledger"))
    return f"""
wrote
  {files.output:<{width}}  the centers and the receipt, as `metricdp cluster` writes them
  {files.map:<{width}}  the map: open it in a browser, it needs no network

what to try next
  # how good are they? (exact, so not private)
  {own} evaluate {graph} {demand} --centers {shlex.quote(files.output)}
  # two questions on one budget, kept in a journal; a third is refused
  {own} cluster {graph} {demand} -k 5 --epsilon 1/2 --ledger {ledger} --epsilon-budget 1
  # the same without private data: the road network itself
  {own} cluster {graph} -k 20
  # your own: a graph and a file with a column of vertex ids
  {own} cluster --help
"""


def _short(path: str) -> str:
    """The shorter of absolute and relative path, quoted for a shell."""
    relative = path
    with suppress(ValueError):  # another drive
        relative = os.path.relpath(path)
    return shlex.quote(min(relative, path, key=len))
