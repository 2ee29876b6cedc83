"""k-medoids of points: `metricdp.sklearn.KMedoids` beside FasterPAM of the package kmedoids.

    python -m benchmarks medoids [--sizes 2000,10000] [-k 20] [--seeds 3]

FasterPAM gets a matrix of all distances, whose computation counts; ours gets the points. Seconds of
the processor, after a call that compiles. Needs ``pip install kmedoids`` and the extra ``sklearn``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from metricdp.sklearn import KMedoids


def points(n: int, seed: int) -> np.ndarray:
    """Fifty Gaussian clusters of unequal size in five dimensions."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-10, 10, (50, 5))
    return middles[rng.choice(50, n, p=rng.dirichlet(np.ones(50)))] + rng.normal(size=(n, 5))


def ours(X: np.ndarray, k: int, seed: int) -> float:
    """With default arguments."""
    return KMedoids(k, random_state=seed).fit(X).inertia_


def fasterpam(X: np.ndarray, k: int, seed: int) -> float:
    """With its default start."""
    import kmedoids
    from sklearn.metrics import pairwise_distances

    matrix = pairwise_distances(X).astype(np.float32)
    return float(kmedoids.fasterpam(matrix, k, random_state=seed).loss)


def timed(call: Callable[..., float], *arguments: Any) -> tuple[float, float]:
    """Cost, and seconds of the processor."""
    start = time.process_time()
    cost = call(*arguments)
    return cost, time.process_time() - start


def main() -> None:
    """Print a row a size: means over seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="2000,10000")
    parser.add_argument("-k", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--most", type=int, default=20_000, help="rows that get a matrix")
    asked = parser.parse_args()
    ours(points(6_000, 0), asked.k, 0)
    print("| rows | k | cost, ours / FasterPAM | seconds, ours | seconds, FasterPAM |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for n in map(int, asked.sizes.split(",")):
        X = points(n, 1)
        mine = np.array([timed(ours, X, asked.k, s) for s in range(asked.seeds)])
        told = f"| {n:,} | {asked.k} |"
        if n > asked.most:
            print(f"{told} - | {mine[:, 1].mean():.2f} | a matrix of {4e-9 * n * n:.1f} GB |")
            continue
        theirs = np.array([timed(fasterpam, X, asked.k, s) for s in range(asked.seeds)])
        ratio = mine[:, 0].mean() / theirs[:, 0].mean()
        print(f"{told} {ratio:.4f} | {mine[:, 1].mean():.2f} | {theirs[:, 1].mean():.2f} |")


if __name__ == "__main__":
    main()
