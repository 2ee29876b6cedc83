"""Interrupt `metricdp cluster`, `explore` and `decode` at random moments: is what was paid for on
disk, and usable?

Each run has a folder and a ledger of its own and gets SIGINT after a time drawn uniformly from a
little less than the command takes. A run passes if its exit status is 0 or 130 (or the signal's
own, before Python listens to it), if nobody sees a traceback, and if nothing was charged or what
was paid for is there and answers: the release of `cluster`, the page and the JSON of `explore`.
`decode` charges nothing, the messages were paid for by their senders: it passes if they are as
they were and its result is whole or not there.

    python benchmarks/interrupts.py --runs 200
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
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
from typing import NamedTuple

import metricdp as mdp
from metricdp.universe import sample_path

ROOT = Path(__file__).parents[1]
GRAPH = [str(sample_path("coquimbo.csv.gz")), "--nodes", str(sample_path("coquimbo_nodes.csv.gz"))]
GRAPH += ["--symmetrize", "--largest-component"]
HOMES = sample_path("coquimbo_demand.csv.gz")
PRIVATE = ["--demand", str(HOMES), "--ledger", "l"]
PARAMETERS, MESSAGES = "parameters.json", "messages.jsonl"
ROUND = ["--parameters", PARAMETERS, "--messages", MESSAGES]
COMMANDS = {
    "cluster": ["cluster", *GRAPH, *PRIVATE, "-k", "5", "--epsilon", "1"],
    "explore": ["explore", *GRAPH, *PRIVATE, "-k", "5", "--epsilons", "0.5,1"],
    "decode": ["decode", *GRAPH, *ROUND, "-k", "5", "--output", "result.json"],
}
COMMANDS["explore"] += ["--output", "page.html", "--repeats", "0"]
TURNS = ("cluster", "explore", "cluster", "decode")
"""Commands of four runs that follow each other."""
USERS = 500
"""Messages of the round that is decoded."""


class Ended(NamedTuple):
    """How a run ended."""

    status: int
    out: str
    notes: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else ignored, as behind nohup or &
    coins = random.Random(args.seed)
    metric = mdp.read_graph(GRAPH[0], symmetrize=True, largest_component=True)
    with tempfile.TemporaryDirectory() as kept:
        collected = collect(Path(kept))
        took = {name: whole(name, collected) for name in COMMANDS}
        print("seconds of a whole run:", {name: round(took[name], 1) for name in took})
        seen: Counter[str] = Counter()
        for number in range(args.runs):
            name = TURNS[number % len(TURNS)]
            after = coins.uniform(0.05, 0.98) * took[name]
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                ended = interrupted(name, folder, after, collected)
                what = verdict(name, ended, folder, metric, collected)
            seen[f"{name}: {what}"] += 1
            if "LOST" in what:
                print(f"{name} after {after:.2f} s: {what}\n{ended.notes}", flush=True)
    for what, count in sorted(seen.items()):
        print(f"{count:4d}  {what}")
    sys.exit(any("LOST" in what for what in seen))


def collect(folder: Path) -> dict[str, bytes]:
    """Parameters and messages of one round, by file name."""
    whole_round = ["--epsilon", "2", "--users", str(USERS), "--write-parameters", PARAMETERS]
    _, error = started(["encode", *GRAPH, *whole_round], folder).communicate()
    homes = gzip.decompress(HOMES.read_bytes()).decode().splitlines()[1 : USERS + 1]
    (folder / "items").write_text("\n".join(homes))
    messages, notes = started(
        ["encode", "--parameters", PARAMETERS, "--items", "items"], folder
    ).communicate()
    if messages.count("\n") != USERS:
        raise SystemExit(error + notes)
    return {PARAMETERS: (folder / PARAMETERS).read_bytes(), MESSAGES: messages.encode()}


def whole(name: str, collected: dict[str, bytes]) -> float:
    """Seconds that a command takes, once its kernels are compiled."""
    for _ in range(2):
        with tempfile.TemporaryDirectory() as made:
            start = time.perf_counter()
            ended = interrupted(name, Path(made), None, collected)
            if ended.status != 0:
                raise SystemExit(ended.notes)
    return time.perf_counter() - start


def started(ask: list[str], folder: Path) -> subprocess.Popen[str]:
    own = {**os.environ, "PYTHONPATH": str(ROOT)}
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "metricdp", *ask], cwd=folder, env=own, **out)


def interrupted(name: str, folder: Path, after: float | None, collected: dict[str, bytes]) -> Ended:
    """Run a command in a folder, and interrupt it so many seconds later."""
    for file, data in collected.items() if name == "decode" else ():
        (folder / file).write_bytes(data)
    process = started(COMMANDS[name], folder)
    if after is not None:
        time.sleep(after)
        process.send_signal(signal.SIGINT)
    out, notes = process.communicate()
    return Ended(process.returncode, out, notes)


def verdict(
    name: str, ended: Ended, folder: Path, metric: mdp.GraphMetric, collected: dict[str, bytes]
) -> str:
    if ended.status not in (0, 130, -signal.SIGINT):  # the last: while Python itself starts
        return f"status {ended.status}, LOST"
    if "Traceback" in ended.notes and ended.status != -signal.SIGINT:
        return "traceback, LOST"
    how = "done" if ended.status == 0 else "interrupted"
    if name == "decode":
        return f"{how}, {decoded(ended, folder, collected)}"
    journal = folder / "l"
    if not journal.exists() or not mdp.Ledger.open(journal).spent:
        return f"{how}, nothing paid" if ended.status else "done, nothing paid, LOST"
    return f"{how}, paid, {explored(ended, folder) if name == 'explore' else kept(folder, metric)}"


def kept(folder: Path, metric: mdp.GraphMetric) -> str:
    """Does the release of `cluster` answer another question?"""
    if not (folder / "l.1.release").exists():
        return "no release, LOST"
    asked = mdp.Release.load(folder / "l.1.release", metric).k_median(k=2, time_limit=0.2)
    return "release answers" if asked.k == 2 else "LOST"


def explored(ended: Ended, folder: Path) -> str:
    """Are all levels on a whole page, and in the JSON?"""
    page = folder / "page.html"
    if not page.exists() or not page.read_text("utf-8").rstrip().endswith("</html>"):
        return "no page, LOST"
    return "page and JSON" if len(json.loads(ended.out)["levels"]) == 2 else "levels LOST"


def decoded(ended: Ended, folder: Path, collected: dict[str, bytes]) -> str:
    """Are the messages as they were, and is the result whole or not there?"""
    for file, data in collected.items():
        if hashlib.sha256((folder / file).read_bytes()).digest() != hashlib.sha256(data).digest():
            return f"{file} changed, LOST"
    result = folder / "result.json"
    if not result.exists():
        return "no result, messages as they were" if ended.status else "no result, LOST"
    whole_one = len(json.loads(result.read_text("utf-8"))["centers"]) == 5
    return "whole result" if whole_one else "result LOST"


if __name__ == "__main__":
    main()
