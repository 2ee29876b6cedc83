"""A year of daily releases: cost of the centers of every tenth day's release on that day's present,
over the best non-private centers for it.

    python -m benchmarks stream [--days 365] [--first 1] [--every 10] [--only NAME] [--draws 1]
                                [--best FILE]
    python -m benchmarks stream --only footprint

Coquimbo (METRICDP_DATA), 500 new records a day, k = 10, eight hot spots of which all move every 60
days, epsilon 1 in all, add-remove, event level. Days that are not asked about
are counted, not estimated. *Footprint*: size of the state of 1,600 parts, largest in a year, and
processor time of a step, written to disk, beside that of one release of the day's present.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np

import metricdp as mdp
from benchmarks.sets.graphs import coquimbo, hot_spots
from metricdp.audit.patch import patched

PER_DAY, K, MOVE = 500, 10, 60
KINDS = {
    "horizon 365": {"horizon": 365},
    "horizon unknown": {},
    "window 30": {"window": 30},
    "horizon 365, delta 1e-6": {"horizon": 365, "delta": "1e-6"},
}


def demands(metric, days):
    """Positions of every day's records, by public coins."""
    era = -1
    pool = np.empty(0, np.int64)
    coins = np.random.default_rng(11)
    for day in range(days):
        if day // MOVE != era:
            era = day // MOVE
            pool = hot_spots(metric, 200_000, seed=50 + era)
        yield coins.choice(pool, PER_DAY)


class Best:
    """Costs of the best centers found without privacy, by present and day: of all draws, and in a
    file, if one is named.
    """

    def __init__(self, metric, path=None):
        self.metric, self.path = metric, path
        self.costs = json.loads(path.read_text()) if path and path.exists() else {}

    def cost(self, centers, present):
        return float(self.metric.nearest(centers)[1] @ present)

    def ratio(self, centers, present, name):
        if name not in self.costs:
            found = mdp.k_median(self.metric, k=K, weights=present).centers
            self.costs[name] = self.cost(found, present)
            if self.path:
                self.path.write_text(json.dumps(self.costs))
        return self.cost(centers, present) / self.costs[name]


def excess(metric, kind, days, first, every, best):
    """Ratios by day, and the mean time of a step and of what it tells."""
    stream = mdp.Stream(metric, epsilon=1, records_hint=PER_DAY, **KINDS[kind])
    past = []
    found = {}
    for day, at in enumerate(demands(metric, days), start=1):
        past.append(np.bincount(at, minlength=len(metric)))
        demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at])
        asked = (day >= first and day % every == 0) or day == days
        quiet = (
            nullcontext() if asked else patched(mdp.Stream, "_release", lambda self, state: None)
        )
        start = time.perf_counter()
        with quiet:
            release = stream.step(demand)
        spent = time.perf_counter() - start
        if asked:
            present = np.sum(past[-30:] if "window" in kind else past, axis=0).astype(float)
            name = f"{'window ' if 'window' in kind else ''}{day}"
            found[day] = best.ratio(release.k_median(k=K).centers, present, name)
            print(f"{kind}: day {day}: {found[day]:.4f} ({spent:.1f} s a step)", flush=True)
    late = [ratio for day, ratio in found.items() if day > 30]
    parts = release.partition.n_parts
    print(f"| {kind} | {parts} | {max(late):.3f} | {np.mean(late):.4f} | {found[days]:.4f} |")


def footprint(metric):
    """Largest state file of a year of 1,600 parts, and times of a step and of a release."""
    at = next(demands(metric, 1))
    ids = [metric.ids[i] for i in at]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "year.stream"
        stream = mdp.Stream(metric, epsilon=1, horizon=365, parts=1600, path=path)
        largest, steps = 0, []
        with patched(mdp.Stream, "_release", lambda self, state: None):
            for _ in range(364):
                start = time.process_time()
                stream.step(mdp.PrivateDemand(metric, ids))
                steps.append(time.process_time() - start)
                largest = max(largest, path.stat().st_size)
        whole = []
        for day in range(3):
            start = time.process_time()
            if day < 1:
                stream.step(mdp.PrivateDemand(metric, ids))
            else:
                _ = stream.release
            whole.append(time.process_time() - start)
    past = [metric.ids[i] for i in np.concatenate(list(demands(metric, 180)))]
    once = []
    for _ in range(3):
        start = time.process_time()
        mdp.release(metric, mdp.PrivateDemand(metric, past), epsilon=1)
        once.append(time.process_time() - start)
    print(
        f"largest state: {largest / 1e6:.2f} MB; counting and writing a day: "
        f"{np.median(steps):.3f} s; a step that tells: {whole[0]:.2f} s; one release of 90,000 "
        f"records: {np.median(once):.2f} s"
    )
    for hint in (500,):
        stream = mdp.Stream(metric, epsilon=1, horizon=365, records_hint=hint)
        times = []
        for _ in range(8):
            start = time.process_time()
            stream.step(mdp.PrivateDemand(metric, ids))
            times.append(time.process_time() - start)
        print(
            f"{stream.release.partition.n_parts} parts: a step that tells {np.median(times):.2f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--first", type=int, default=1, help="day from which on costs are reported")
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--best", type=Path, help="keeps costs without privacy (JSON)")
    options = parser.parse_args()
    metric = coquimbo(1)[0]
    if options.only == "footprint":
        footprint(metric)
        return
    best = Best(metric, options.best)
    for kind in KINDS:
        for _ in range(options.draws):
            if options.only in kind:
                excess(metric, kind, options.days, options.first, options.every, best)


if __name__ == "__main__":
    main()
