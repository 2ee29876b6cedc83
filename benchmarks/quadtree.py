"""The method quadtree beside the default one, on Gaussian mixtures and the SIPU sets of two dimensions.

Cost of the private centers on the records / best of ten runs of scikit-learn's KMeans; with ``--power 1``, / the better of two
k-medians without privacy. Mean (largest) over runs, each with its own noise and its own public coins, and seconds a call after the first.

    python benchmarks/quadtree.py [--sets gm-d2-k8 s1] [--epsilons 0.25 1] [--runs 3] [--power 1] [--records 20000] [--json FILE]

Prints one row a set and method, as in ``quadtree.md``. The SIPU sets come from METRICDP_DATA.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from euclidean import SETS
from sklearn.cluster import KMeans

import metricdp as mdp
from metricdp.kernels.points import nearest_centers
from metricdp.metrics import EuclideanMetric
from metricdp.solvers.kmedian import solve
from metricdp.solvers.lloyd import settled

DEFAULT_SETS = ("gm-d2-k8", "gm-d2-k20", "s1", "s2", "s3", "s4")
Quadtree = mdp.methods.Quadtree
METHODS = {
    "partition": "partition",
    "quadtree": Quadtree(),
    "posterior": Quadtree(estimate="posterior"),
    "least-squares": Quadtree(estimate="least-squares"),
    "tree": Quadtree(centers="tree"),
    "as published": Quadtree(published=True),
    "published, solver": Quadtree(published=True, estimate="supported", centers="solver"),
}


def cost(points: np.ndarray, centers: np.ndarray, power: int) -> float:
    """Sum of distances to the power."""
    return float((nearest_centers(points, centers)[1] ** (power / 2)).sum())


def reference(points: np.ndarray, k: int, power: int) -> float:
    """Cost of the best that is known without privacy."""
    fitted = KMeans(k, n_init=10, random_state=0).fit(points)
    if power == 2:
        return float(fitted.inertia_)
    metric, ones = EuclideanMetric(points), np.ones(len(points))
    starts = (fitted.cluster_centers_, points[solve(metric, ones, k, seed=0).centers])
    return min(cost(points, settled(points, ones, start, power=1, smooth=1e-3 * np.ptp(points), steps=200), 1) for start in starts)


def measured(points: np.ndarray, k: int, bounds: tuple[float, float], options: argparse.Namespace, method: str) -> list[dict[str, float]]:
    """Ratios and times of one method, for every epsilon."""
    dimension, best, rows = points.shape[1], reference(points, k, options.power), []
    space = mdp.EuclideanSpace([bounds[0]] * dimension, [bounds[1]] * dimension)
    demand, ask = mdp.PrivateDemand(space, points), (mdp.k_median, mdp.k_means)[options.power - 1]
    for epsilon in options.epsilons:
        ratios, times = [], []
        for run in range(options.runs):
            start = time.perf_counter()
            centers = ask(space, demand, k, epsilon=epsilon, method=METHODS[method], seed=run).centers
            times.append(time.perf_counter() - start)
            ratios.append(cost(points, centers, options.power) / best)
        rows.append({"epsilon": epsilon, "mean": float(np.mean(ratios)), "worst": max(ratios), "seconds": min(times)})
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=DEFAULT_SETS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.25, 0.5, 1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--power", type=int, choices=(1, 2), default=2)
    parser.add_argument("--records", type=int, help="use the first so many records of each set")
    parser.add_argument("--json", type=Path)
    options, found = parser.parse_args(), []
    print("| set | method |", " | ".join(f"{e:g}" for e in options.epsilons), "| seconds |")
    for name in options.sets:
        make, k, bounds = SETS[name]
        points = make()[: options.records]
        for method in options.methods:
            rows = measured(points, k, bounds, options, method)
            cells = " | ".join(f"{row['mean']:.3f} ({row['worst']:.2f})" for row in rows)
            print(f"| {name} | {method} | {cells} | {min(row['seconds'] for row in rows):.1f} |", flush=True)
            found.append({"set": name, "method": method, "power": options.power, "records": len(points), "rows": rows})
            if options.json:
                options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
