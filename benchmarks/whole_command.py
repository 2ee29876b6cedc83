"""Processor time and memory of the default method from a file of roads to its centers.

    python -m benchmarks whole_command [--version FOLDER]... [--vertices 1000000]

One process a version: a checkout of the package, this one by default. Times of two versions are to
be compared within one run only. San Francisco Bay (321,270 vertices, METRICDP_DATA), 20,000
records in eight hot spots, k = 20, epsilon 1; or a made network of so many vertices, whose making
stands for reading it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def measured(vertices: int) -> str:
    """Seconds of reading, of the demand and of the release with its centers; peak memory."""
    import metricdp as mdp
    from benchmarks.explore import roads
    from benchmarks.sets.graphs import DATA, hot_spots

    times = [time.process_time()]
    bay = DATA / "roads/dimacs/USA-road-d.BAY.gr.gz"
    metric = roads(vertices) if vertices else mdp.read_graph(bay)
    times.append(time.process_time())
    records = [metric.ids[i] for i in hot_spots(metric, 20_000).tolist()]
    times.append(time.process_time())
    mdp.k_median(metric, mdp.PrivateDemand(metric, records), 20, epsilon=1)
    times.append(time.process_time())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"| {times[1] - times[0]:.1f} | {times[3] - times[2]:.1f} "
        f"| {times[3] - times[2] + times[1] - times[0]:.1f} | {peak:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="append", help="folder of a checkout")
    parser.add_argument("--vertices", type=int, default=0)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(measured(options.vertices))
        return
    print("| version | read, s | release and centers, s | both, s | peak, MB |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    for version in options.version or [str(HERE.parent)]:
        paths = {"PYTHONPATH": os.pathsep.join((version, str(HERE)))}
        reported = subprocess.run(
            [sys.executable, __file__, "--here", "--vertices", str(options.vertices)],
            env=os.environ | paths,
            cwd=HERE.parent,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.strip()
        print(f"| {version} {reported}", flush=True)


if __name__ == "__main__":
    main()
