"""Interrupt `metricdp cluster` and `metricdp explore` at random moments: is what was paid for on
disk, and usable?

Each run has a ledger of its own and gets SIGINT after a time drawn uniformly from a little less
than the command takes. A run passes if nothing was charged, or if the release (or the page and the
JSON) is there and answers, and if the exit status is 0 or 130.

    python benchmarks/interrupts.py --runs 200
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import metricdp as mdp
from metricdp.universe import sample_path

ROOT = Path(__file__).parents[1]
GRAPH = ["--nodes", str(sample_path("coquimbo_nodes.csv.gz")), "--symmetrize"]
GRAPH = [str(sample_path("coquimbo.csv.gz")), *GRAPH, "--largest-component"]
DEMAND = ["--demand", str(sample_path("coquimbo_demand.csv.gz"))]
COMMANDS = {
    "cluster": ["cluster", *GRAPH, *DEMAND, "-k", "20", "--epsilon", "1", "--ledger", "l"],
    "explore": ["explore", *GRAPH, *DEMAND, "-k", "5", "--epsilons", "0.5,1", "--ledger", "l"],
}
COMMANDS["explore"] += ["--output", "page.html", "--repeats", "1"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    coins = random.Random(args.seed)
    metric = mdp.read_graph(GRAPH[0], symmetrize=True, largest_component=True)
    took = {name: whole(ask) for name, ask in COMMANDS.items()}
    seen: Counter[str] = Counter()
    for number in range(args.runs):
        name = "explore" if number % 4 == 3 else "cluster"
        with tempfile.TemporaryDirectory() as folder:
            ended = interrupted(COMMANDS[name], Path(folder), coins.uniform(0.2, 0.95) * took[name])
            seen[f"{name}: {verdict(name, ended, Path(folder), metric)}"] += 1
    for what, count in sorted(seen.items()):
        print(f"{count:4d}  {what}")
    sys.exit(any("LOST" in what or "STATUS" in what for what in seen))


def whole(ask: list[str]) -> float:
    """Seconds that the command takes."""
    with tempfile.TemporaryDirectory() as folder:
        started(ask, Path(folder)).communicate()
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as other:
            started(ask, Path(other)).communicate()
        return time.perf_counter() - start


def started(ask: list[str], folder: Path) -> subprocess.Popen[str]:
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "metricdp", *ask], cwd=folder, env=own, **out)


def interrupted(ask: list[str], folder: Path, after: float) -> tuple[int, str]:
    process = started(ask, folder)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    return process.returncode, out


def verdict(name: str, ended: tuple[int, str], folder: Path, metric: mdp.GraphMetric) -> str:
    status, out = ended
    if status not in (0, 130, -2):  # -2: before Python had its handler
        return f"STATUS {status}"
    journal = folder / "l"
    if not journal.exists() or not mdp.Ledger.open(journal).spent:
        return "nothing paid"
    how = "done" if status == 0 else "interrupted"
    if name == "explore":
        held = (folder / "page.html").exists() and "levels" in json.loads(out)
        return f"paid, {how}, page and JSON" if held else f"paid, {how}, LOST"
    if not (folder / "l.1.release").exists():
        return f"paid, {how}, LOST"
    asked = mdp.Release.load(folder / "l.1.release", metric).k_median(k=2, time_limit=0.2)
    return f"paid, {how}, release answers" if asked.k == 2 else f"paid, {how}, LOST"


if __name__ == "__main__":
    main()
