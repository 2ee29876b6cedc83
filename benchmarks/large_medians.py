"""Large p-median problems without a matrix: cost, lower bound, time and memory.

    python -m benchmarks large_medians [--only uniform 85900 1000] [--effort thorough]

Made instances, drawn anew from seed 0: uniform points of a square of side 10^6; points, half of
them uniform and half in 300 normal clusters, coordinates rounded to whole numbers (TSPLIB's
pla85900 has as many as the largest); and a street-like graph, of such points' Delaunay edges those
that are not the longest side of a triangle, lengths rounded. Each problem is searched and bounded
by one call, in a process of its own, whose peak memory is reported.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import Delaunay

import metricdp as mdp
from benchmarks import large_medians

PROBLEMS = [
    ("uniform", 85_900, 1_000),
    ("points", 20_000, 200),
    ("points", 20_000, 2_000),
    ("points", 85_900, 1_000),
    ("points", 85_900, 10_000),
    ("graph", 50_000, 500),
    ("graph", 50_000, 5_000),
]


def made_points(n: int) -> np.ndarray:
    """Distinct points with whole coordinates, shape (n, 2)."""
    rng = np.random.default_rng(0)
    side = 10**6
    middle = rng.random((300, 2)) * side
    wide = np.exp(rng.uniform(np.log(1e3), np.log(4e4), 300))
    some = rng.integers(0, 300, n)
    clustered = middle[some] + rng.normal(size=(n, 2)) * wide[some, None]
    spread = rng.random((n, 2)) * side
    both = np.where(rng.random(n)[:, None] < 0.5, clustered, spread)
    found = np.unique(np.clip(np.rint(both), 0, side), axis=0)
    while len(found) < n:
        found = np.unique(np.r_[found, rng.integers(0, side, (n - len(found), 2))], axis=0)
    return rng.permutation(found)


def uniform_points(n: int) -> np.ndarray:
    """Points of a square of side 10^6, shape (n, 2)."""
    return np.random.default_rng(0).random((n, 2)) * 10**6


POINTS = {"points": made_points, "uniform": uniform_points}


def made_graph(n: int) -> mdp.GraphMetric:
    """Streets between made points."""
    points = made_points(n)
    corners = Delaunay(points).simplices
    third = np.concatenate([corners, np.roll(corners, 1, 1), np.roll(corners, 2, 1)])
    a, b, c = third.T

    def apart(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return np.hypot(*(points[i] - points[j]).T)

    blocked = np.maximum(apart(a, c), apart(b, c)) < apart(a, b)
    ends = np.sort(third[:, :2], axis=1)
    edges, which = np.unique(ends, axis=0, return_inverse=True)
    free = np.bincount(which.ravel(), blocked, len(edges)) == 0
    u, v = edges[free].T
    length = np.maximum(np.rint(apart(u, v)), 1.0)
    return mdp.GraphMetric(csr_array((np.r_[length, length], (np.r_[u, v], np.r_[v, u]))))


def measured(kind: str, n: int, k: int, effort: str, limit: float | None) -> dict[str, object]:
    """One problem, searched and bounded."""
    metric = mdp.EuclideanMetric(POINTS[kind](n)) if kind in POINTS else made_graph(n)
    start, cpu = time.perf_counter(), time.process_time()
    found = mdp.k_median(metric, k=k, effort=effort, certificate=True, seed=0, time_limit=limit)
    return {
        "kind": kind,
        "n": len(metric),
        "k": k,
        "effort": effort,
        "seconds": round(time.perf_counter() - start, 1),
        "cpu": round(time.process_time() - cpu, 1),
        "cost": float(metric.nearest(found.centers)[1].sum()),
        "bound": found.lower_bound,
        "gap_percent": round(100 * found.gap, 3),
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    """Every problem in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs=3, metavar=("KIND", "N", "K"))
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--time-limit", type=float)
    args = parser.parse_args()
    only = None if args.only is None else (args.only[0], int(args.only[1]), int(args.only[2]))
    for problem in PROBLEMS if only is None else [only]:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            row = pool.apply(large_medians.measured, (*problem, args.effort, args.time_limit))
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
