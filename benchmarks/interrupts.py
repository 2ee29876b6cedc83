"""Interrupt `metricdp cluster`, `explore` and `decode` at random moments: is what was paid for on
disk, and usable?

Each run has a folder and a ledger of its own and gets SIGINT after a time drawn uniformly from a
little less than the command takes. A run passes if its exit status is 0 or 130 without a traceback
(or Python's own, while it starts and nothing is open), and if nothing was charged or what
was paid for is there and answers: the release of `cluster`, the page and the JSON of `explore`.
`decode` charges nothing, the messages were paid for by their senders: it passes if they are as
they were and its result is whole or not there.

    python -m benchmarks interrupts --runs 200
"""

from __future__ import annotations

import argparse
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

ROOT = Path(__file__).parents[1]
ROADS, HOMES, PARAMETERS, MESSAGES = "roads.csv", "homes.csv", "parameters.json", "messages.jsonl"
PRIVATE = ["--demand", HOMES, "--ledger", "l"]
ROUND = ["--parameters", PARAMETERS, "--messages", MESSAGES]
COMMANDS = {
    "cluster": ["cluster", ROADS, *PRIVATE, "-k", "5", "--epsilon", "1"],
    "explore": ["explore", ROADS, *PRIVATE, "-k", "5", "--epsilons", "0.5,1"],
    "decode": ["decode", ROADS, *ROUND, "-k", "5", "--output", "result.json"],
}
COMMANDS["explore"] += ["--output", "page.html", "--repeats", "1"]
TURNS = ("cluster", "explore", "cluster", "decode")
"""Commands of four runs that follow each other."""
USERS = 500
"""Messages of the round that is decoded."""
SIDE = 30
"""Streets are a grid of so many corners a side: small, so that random moments fall on all that a
command does and not on its search alone.
"""


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
    with tempfile.TemporaryDirectory() as kept:
        collected = collect(Path(kept))
        metric = mdp.read_graph(Path(kept) / ROADS)
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
            print(f"{number + 1}: {name} after {after:.2f} s: {what}", flush=True)
            if "LOST" in what:
                print(ended.notes)
    for what, count in sorted(seen.items()):
        print(f"{count:4d}  {what}")
    sys.exit(any("LOST" in what for what in seen))


def collect(folder: Path) -> dict[str, bytes]:
    """Streets, homes, and parameters and messages of one round, by file name."""
    coins = random.Random(0)
    corners = range(SIDE * SIDE)
    pairs = [(v, v + 1) for v in corners if (v + 1) % SIDE]
    pairs += [(v, v + SIDE) for v in corners if v + SIDE < SIDE * SIDE]
    rows = "".join(f"{u},{v},{coins.randint(80, 160)}\n" for u, v in pairs)
    (folder / ROADS).write_text("from,to,length\n" + rows)
    homes = [coins.choice([33, 455, 700, 820]) + coins.choice([0, 1, 30, 31]) for _ in range(2000)]
    (folder / HOMES).write_text("vertex\n" + "".join(f"{v}\n" for v in homes))
    (folder / "items").write_text("".join(f"{v}\n" for v in homes[:USERS]))
    asked = ["--epsilon", "2", "--users", str(USERS), "--write-parameters", PARAMETERS]
    _, error = started(["encode", ROADS, *asked], folder).communicate()
    asked = ["--parameters", PARAMETERS, "--items", "items"]
    messages, notes = started(["encode", *asked], folder).communicate()
    if messages.count("\n") != USERS:
        raise SystemExit(error + notes)
    kept = {name: (folder / name).read_bytes() for name in (ROADS, HOMES, PARAMETERS)}
    return kept | {MESSAGES: messages.encode()}


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
    for file, data in collected.items():
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
    early = ended.status == -signal.SIGINT or "import the site module" in ended.notes
    if early and not (folder / "l").exists():
        return "interrupted while Python itself started, nothing paid"
    if ended.status not in (0, 130):
        return f"status {ended.status}, LOST"
    if "Traceback" in ended.notes:
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
