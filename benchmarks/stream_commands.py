"""A year of days through one series of ``metricdp stream step`` commands: cost of the centers of
a day on that day's total over the best found without privacy, size of the state on disk, and
processor time of a step beside that of one release of the day's total.

The first 30 days, and those on which times are compared, are processes of their own; the others go
through the command's entry point in one process, which reads the network once.

    python -m benchmarks stream_commands FOLDER [--every 5]   # the commands; goes on where it was
    python -m benchmarks stream_commands FOLDER --best [--every 5]   # their costs over the best
    python -m benchmarks stream_commands FOLDER --table

Coquimbo (METRICDP_DATA), 500 new records a day, k = 10, eight hot spots that all move every 60
days, epsilon 1 in all, event level: the demand of stream.py. FOLDER keeps files of days, the
stream, its ledger and what the commands told.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np

from benchmarks.sets.graphs import DATA, coquimbo
from benchmarks.stream import PER_DAY, Best, K, demands
from metricdp.audit.patch import patched
from metricdp.cli import inputs
from metricdp.cli import main as main_command

NETWORK = [str(DATA / "roads/coquimbo/links.csv"), "--weight", "length_m", "--symmetrize"]
NETWORK += ["--largest-component", "--quiet"]
BESIDE = (30, 180, 365)
"""Days on which one release of the day's total is timed."""


def command(*words: str) -> tuple[dict, float]:
    """What a command told, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "metricdp", *words], check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), spent


def in_process(metric, *words: str) -> tuple[dict, float]:
    """The same, without a process of its own and without reading the network again."""
    out = StringIO()
    start = time.process_time()
    with redirect_stdout(out), patched(inputs, "read_metric", lambda args: metric):
        if main_command(list(words)):
            raise SystemExit(f"refused: {words}")
    return json.loads(out.getvalue()), time.process_time() - start


def written(path: Path, metric, at) -> str:
    """A file of records at these positions."""
    path.write_text("vertex\n" + "".join(f"{metric.ids[i]}\n" for i in at))
    return str(path)


def run(metric, folder: Path, days: int, every: int) -> None:
    state, reported = str(folder / "year.stream"), folder / "told.jsonl"
    if not Path(state).exists():
        paid = ["--epsilon", "1", "--horizon", "365", "--records-hint", str(PER_DAY)]
        command("stream", "init", state, *NETWORK, *paid, "--ledger", str(folder / "year.ledger"))
    done = len(reported.read_text().splitlines()) if reported.exists() else 0
    past: list[np.ndarray] = []
    for day, at in enumerate(demands(metric, days), start=1):
        past.append(at)
        if day <= done:
            continue
        asked = ["--demand", written(folder / "day.csv", metric, at), "--day", str(day)]
        asked += ["-k", str(K)] if day <= 40 or day % every == 0 or day in BESIDE else []
        words = ["stream", "step", state, *NETWORK, *asked]
        own = day <= 30 or day in BESIDE
        found, spent = command(*words) if own else in_process(metric, *words)
        line = {"day": day, "centers": found.get("centers"), "seconds": spent, "own": own}
        line["bytes"] = Path(state).stat().st_size
        if day in BESIDE:
            whole = written(folder / "total.csv", metric, np.concatenate(past))
            once = ["--demand", whole, "--epsilon", "1", "-k", str(K)]
            line["once"] = command("cluster", *NETWORK, *once)[1]
        with reported.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(f"day {day}: {spent:.1f} s, {line['bytes']:,} bytes", flush=True)


def find_best(metric, folder: Path, every: int) -> None:
    """Costs of centers that were reported over those of the best found without privacy, by day."""
    kept = folder / "ratios.json"
    best = Best(metric, folder / "best.json")
    ratios = json.loads(kept.read_text()) if kept.exists() else {}
    lines = [json.loads(line) for line in (folder / "told.jsonl").read_text().splitlines()]
    present = np.zeros(len(metric))
    for line, at in zip(lines, demands(metric, len(lines)), strict=True):
        present += np.bincount(at, minlength=len(metric))
        day = line["day"]
        if line["centers"] is None or str(day) in ratios or (day % every and day != 365):
            continue
        ratios[str(day)] = best.ratio(line["centers"], present, str(day))
        kept.write_text(json.dumps(ratios))
        print(f"day {day}: {ratios[str(day)]:.4f}", flush=True)


def table(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "told.jsonl").read_text().splitlines()]
    ratios = {int(d): r for d, r in json.loads((folder / "ratios.json").read_text()).items()}
    late = {day: ratio for day, ratio in ratios.items() if day > 30}
    worst = max(late, key=late.__getitem__)
    print(f"{len(lines)} days told, {len(ratios)} measured, {len(late)} of them after day 30")
    print(
        f"worst after day 30: {late[worst]:.4f} (day {worst}); mean "
        f"{np.mean(list(late.values())):.4f}"
    )
    print(f"largest state: {max(line['bytes'] for line in lines):,} bytes")
    print(
        f"a step: median {np.median([line['seconds'] for line in lines]):.2f} s of processor time"
    )
    for line in lines:
        if "once" in line:
            print(
                f"day {line['day']}: step {line['seconds']:.2f} s, one release {line['once']:.2f} s"
            )
    for day in (1, 2, 3, 5, 8, 10, 15, 20, 25, 30, 31, 35, 40, 50, 60, 80, 100, 150, 200, 300, 365):
        if day in ratios:
            print(f"{day}: {ratios[day]:.3f}", end="  ")
    print()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--every", type=int, default=5, help="centers, or costs, of these days")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    if options.table:
        table(options.folder)
        return
    metric = coquimbo(1)[0]
    if options.best:
        find_best(metric, options.folder, options.every)
    else:
        run(metric, options.folder, options.days, options.every)


if __name__ == "__main__":
    main()
