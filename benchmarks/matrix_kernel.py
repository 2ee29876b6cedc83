"""The search on a block of distances: against the proven optima of OR-Library, and against
FasterPAM. Needs METRICDP_DATA and kmedoids.

    python -m benchmarks matrix_kernel [--starts 5] > benchmarks/matrix_kernel.json

Figures go to stdout as JSON and to stderr as they come. Both solvers of a row run in turn on the
same start, each measured three times, of which the fastest counts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay

import metricdp as mdp
from metricdp.solvers.block import block_search
from metricdp.universe import build_graph

DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data"))
N, REPEATS = 10_000, 3


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def delaunay_roads(n: int, seed: int = 0) -> mdp.GraphMetric:
    """Delaunay triangulation of random points, two thirds of its edges with detours of 0 to 50 %;
    the largest component of that.
    """
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    triangles = Delaunay(points).simplices
    edges = np.unique(
        np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])),
        axis=0,
    )
    edges = edges[rng.random(len(edges)) < 0.67]
    lengths = np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T) * rng.uniform(
        1, 1.5, len(edges)
    )
    return mdp.GraphMetric(
        build_graph(
            *edges.T, lengths, ids=range(n), directed=False, largest_component=True, name="roads"
        )
    )


def euclidean(n: int, seed: int = 0) -> mdp.EuclideanMetric:
    return mdp.EuclideanMetric(np.random.default_rng(seed).random((n, 2)))


def fastest(run: Callable[[], float]) -> tuple[float, float, float]:
    """(least seconds, least seconds of processors, mean result: FasterPAM on several threads is not
    repeatable).
    """
    times, results = [], []
    for _ in range(REPEATS):
        begin = time.perf_counter(), time.process_time()
        results.append(run())
        times.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    return min(t[0] for t in times), min(t[1] for t in times), float(np.mean(results))


def against_fasterpam(name: str, metric: mdp.Metric, k: int, starts: int) -> dict[str, object]:
    """One local search from the same random centers, `starts` times."""
    import kmedoids

    n = len(metric)
    block = metric.distance_rows(np.arange(n)).astype(np.float32)
    columns = np.asfortranarray(block)
    rows = []
    for start in range(starts):
        centers = np.random.default_rng(start).choice(n, k, replace=False)
        theirs = {
            cpus: fastest(lambda c=centers, p=cpus: kmedoids.fasterpam(columns, c, n_cpu=p).loss)
            for cpus in (1, -1)
        }
        ours = fastest(
            lambda c=centers, s=start: block_search(
                block, np.ones(n), k, np.random.default_rng(s), first_start=c
            )[1]
        )
        rows.append([*ours, *theirs[-1], *theirs[1]])
        peer = f"FasterPAM {theirs[-1][0]:.2f} s, on one thread {theirs[1][0]:.2f} s"
        say(
            f"{name} k={k} start {start}: {ours[0]:.2f} s; {peer}; cost ratio "
            f"{ours[2] / theirs[-1][2]:.5f}"
        )
    mean = dict(
        zip(
            ("ours", "fasterpam", "fasterpam_one_thread"),
            np.mean(rows, axis=0).reshape(3, 3).tolist(),
        )
    )
    wall, processors, cost = zip(*mean.values())
    return {
        "instance": name,
        "n": n,
        "k": k,
        "starts": starts,
        "seconds, seconds of processors, cost": mean,
        "time_ratio": wall[0] / wall[1],
        "time_ratio_one_thread": wall[0] / wall[2],
        "processor_ratio": processors[0] / processors[1],
        "processor_ratio_one_thread": processors[0] / processors[2],
        "cost_ratio": cost[0] / cost[1],
    }


def or_library() -> dict[str, object]:
    """All 40 instances by default arguments: files, distances, search."""
    optima = dict(
        line.split()[:2]
        for line in (DATA / "pmed/pmedopt.txt").read_text().splitlines()
        if line.startswith("pmed")
    )
    gaps, bounds, times, proofs = [], [], [], []
    for number in range(1, 41):
        path = DATA / f"pmed/pmed{number}.txt"
        k, best = int(path.read_text().split()[2]), int(optima[f"pmed{number}"])
        begin = time.perf_counter()
        metric = mdp.read_graph(path)
        result = mdp.k_median(metric, k=k)
        times.append(time.perf_counter() - begin)
        cost = float(metric.nearest(result.centers)[1].sum())
        gaps.append(cost / best - 1)
        begin = time.perf_counter()
        certified = mdp.k_median(metric, k=k, certificate=True)
        proofs.append(time.perf_counter() - begin)
        bounds.append(certified.gap)
        proof = f"certified within {100 * certified.gap:.2f} %, {proofs[-1]:.2f} s"
        say(
            f"pmed{number}: n={len(metric)} k={k} cost {cost:.0f} optimum {best}, {times[-1]:.2f} "
            f"s; {proof}"
        )
    return {
        "exact": int(np.sum(np.abs(gaps) < 1e-12)),
        "mean_gap": float(np.mean(gaps)),
        "largest_gap": float(np.max(gaps)),
        "seconds": sum(times),
        "proven_optimal": int(np.sum(np.array(bounds) == 0)),
        "mean_certified_gap": float(np.mean(bounds)),
        "largest_certified_gap": float(np.max(bounds)),
        "seconds_with_certificate": sum(proofs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    small = np.random.default_rng(0).random((3000, 3000)).astype(np.float32)
    block_search(small, np.ones(3000), 50, np.random.default_rng(0))  # compile
    results: dict[str, object] = {"or_library": or_library()}
    say(json.dumps(results))
    results["fasterpam"] = [
        against_fasterpam(name, metric, k, args.starts)
        for name, metric in (("points", euclidean(N)), ("roads", delaunay_roads(N)))
        for k in (20, 90)
    ]
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
