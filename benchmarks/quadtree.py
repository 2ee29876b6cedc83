"""The method quadtree in its forms, beside the default one, on mixtures, the SIPU sets of two
dimensions, skin and shuttle.

Cost of the private centers on the records / best of ten runs of scikit-learn's KMeans; with
``--power 1``, / the better of two k-medians without privacy. Mean (largest) over runs, each with
its own noise and its own public coins, and CPU seconds of the fastest call.

    python -m benchmarks quadtree [--sets gm-d2-k8 s1] [--epsilons 0.25 1] [--runs 3] [--power 1]
    [--records 20000] [--json FILE]

Prints one row a set and method, as in ``quadtree.md``. Sets that are read come from the folder
METRICDP_DATA.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

import metricdp as mdp
from benchmarks.frame.costs import cost
from benchmarks.methods.printed_quadtree import PrintedQuadtree
from benchmarks.methods.several_trees import SeveralTrees
from benchmarks.sets.point_sets import POINT_SETS
from metricdp.metrics import EuclideanMetric
from metricdp.solvers.kmedian import solve
from metricdp.solvers.lloyd import converged

DEFAULT_SETS = (
    "gm-d2-k8",
    "gm-d2-k20",
    "s1",
    "s2",
    "s3",
    "s4",
    "skin",
    "shuttle",
    "gm-d10-k8",
    "gm-d10-k20",
)
Quadtree = mdp.methods.Quadtree
METHODS = {
    "partition": "partition",
    "quadtree": Quadtree(),
    "no step": Quadtree(steps=0),
    "a step": Quadtree(steps=1),
    "tree": SeveralTrees(centers="tree"),
    "tree, two passes": SeveralTrees(centers="tree", passes=2),
    "tree, three passes": SeveralTrees(centers="tree", passes=3),
    "as published": PrintedQuadtree(),
    "published, one pass": PrintedQuadtree(passes=1),
    "published, no steps": PrintedQuadtree(steps=0),
    "published, no steps, one pass": PrintedQuadtree(steps=0, passes=1),
}


def reference(points: np.ndarray, k: int, power: int) -> float:
    """Cost of the best that is known without privacy."""
    fitted = KMeans(k, n_init=10, random_state=0).fit(points)
    if power == 2:
        return float(fitted.inertia_)
    metric, ones = EuclideanMetric(points), np.ones(len(points))
    starts = (fitted.cluster_centers_, points[solve(metric, ones, k, seed=0).centers])
    return min(
        cost(
            points,
            converged(points, ones, start, power=1, smooth=1e-3 * np.ptp(points), steps=200),
            1,
        )
        for start in starts
    )


def measured(
    points: np.ndarray,
    k: int,
    bounds: tuple[float, float],
    options: argparse.Namespace,
    method: str,
) -> list[dict[str, float]]:
    """Ratios and times of one method, for every epsilon."""
    dimension, best, rows = points.shape[1], reference(points, k, options.power), []
    space = mdp.EuclideanSpace([bounds[0]] * dimension, [bounds[1]] * dimension)
    demand, ask = mdp.PrivateDemand(space, points), (mdp.k_median, mdp.k_means)[options.power - 1]
    for epsilon in options.epsilons:
        ratios, times = [], []
        for run in range(options.runs):
            start = time.process_time()
            centers = ask(
                space, demand, k, epsilon=epsilon, method=METHODS[method], seed=run
            ).centers
            times.append(time.process_time() - start)
            ratios.append(cost(points, centers, options.power) / best)
        rows.append(
            {
                "epsilon": epsilon,
                "mean": float(np.mean(ratios)),
                "worst": max(ratios),
                "seconds": min(times),
            }
        )
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=POINT_SETS, default=DEFAULT_SETS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.25, 0.5, 1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--power", type=int, choices=(1, 2), default=2)
    parser.add_argument("--records", type=int, help="use the first so many records of each set")
    parser.add_argument("--json", type=Path)
    options, found = parser.parse_args(), []
    print("| set | method |", " | ".join(f"{e:g}" for e in options.epsilons), "| seconds |")
    for name in options.sets:
        found_set = POINT_SETS[name]
        points, k, bounds = found_set.load(options.records), found_set.k, found_set.bounds
        for method in options.methods:
            rows = measured(points, k, bounds, options, method)
            cells = " | ".join(f"{row['mean']:.3f} ({row['worst']:.2f})" for row in rows)
            print(
                f"| {name} | {method} | {cells} | {min(row['seconds'] for row in rows):.1f} |",
                flush=True,
            )
            found.append(
                {
                    "set": name,
                    "method": method,
                    "power": options.power,
                    "records": len(points),
                    "rows": rows,
                }
            )
            if options.json:
                options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
