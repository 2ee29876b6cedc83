"""Clustering in a few random dimensions, centers in the original space (`Projected`),
beside the default method.

Cost of the private k-means centers on the records / best of three runs of scikit-learn's KMeans;
mean (largest), and CPU seconds.

    python -m benchmarks projection [--runs 2] [--records 40000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import metricdp as mdp
from benchmarks.methods.projected import Projected
from benchmarks.sets.point_sets import gaussian_mixture
from metricdp.kernels.points import nearest_centers

METHODS = {
    "partition": "partition",
    "projected": Projected(),
    "two steps": Projected(steps=2),
    "inner quadtree": Projected(inner="quadtree"),
    "four dimensions": Projected(dimensions=4),
}
BUDGETS = ((0.5, 1e-6), (1, 1e-6), (1, 0))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--records", type=int, default=40_000)
    options = parser.parse_args()
    sets = {f"gm-d50-k{k}": (gaussian_mixture(options.records, 50, k), k, -1.0) for k in (8, 20)}
    sets["digits"] = (load_digits().data / 16, 10, 0.0)
    print("| set | method |", " | ".join(f"ε = {e:g}, δ = {d:g}" for e, d in BUDGETS), "| CPU s |")
    for name, (points, k, low) in sets.items():
        best, dimension = KMeans(k, n_init=3, random_state=0).fit(points).inertia_, points.shape[1]
        space = mdp.EuclideanSpace([low] * dimension, [1.0] * dimension)
        demand = mdp.PrivateDemand(space, points)
        for label, method in METHODS.items():
            cells, start = [], time.process_time()
            for epsilon, delta in BUDGETS:
                price = {"epsilon": epsilon, "delta": delta}
                found = [
                    mdp.k_means(space, demand, k, method=method, seed=run, **price)
                    for run in range(options.runs)
                ]
                ratios = [
                    float(nearest_centers(points, result.centers)[1].sum()) / best
                    for result in found
                ]
                cells.append(f"{np.mean(ratios):.3f} ({max(ratios):.2f})")
            seconds = (time.process_time() - start) / options.runs / len(BUDGETS)
            print(f"| {name} | {label} |", " | ".join(cells), f"| {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
