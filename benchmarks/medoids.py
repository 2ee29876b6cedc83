"""k-medoids of points: `metricdp.sklearn.KMedoids` beside other packages.

    python -m benchmarks medoids [--sizes 2000,10000] [-k 20] [--seeds 3] [--beside FasterPAM,…]

FasterPAM (package kmedoids) and scikit-learn-extra get or make a matrix of all distances, which
counts; ours, OneBatchPAM (onebatch) and BanditPAM++ (banditpam) get the points. All with default
arguments, on one thread: set ``OMP_NUM_THREADS=1`` and ``NUMBA_NUM_THREADS=1``. Seconds of the
processor, after a call that compiles. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from metricdp.sklearn import KMedoids


def points(n: int, seed: int) -> np.ndarray:
    """Fifty Gaussian clusters of unequal size in five dimensions."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-10, 10, (50, 5))
    return middles[rng.choice(50, n, p=rng.dirichlet(np.ones(50)))] + rng.normal(size=(n, 5))


def ours(X: np.ndarray, k: int, seed: int) -> Any:
    """With default arguments."""
    return KMedoids(k, random_state=seed).fit(X).medoid_indices_


def fasterpam(X: np.ndarray, k: int, seed: int) -> Any:
    """With its default start."""
    import kmedoids
    from sklearn.metrics import pairwise_distances

    matrix = pairwise_distances(X).astype(np.float32)
    return kmedoids.fasterpam(matrix, k, random_state=seed).medoids


def one_batch(X: np.ndarray, k: int, seed: int) -> Any:
    """Distances to one random batch of points (de Mathelin et al., AAAI 2025)."""
    from onebatch import OneBatchPAM

    return OneBatchPAM(k, random_state=seed).fit(X).medoid_indices_


def bandit(X: np.ndarray, k: int, seed: int) -> Any:
    """BanditPAM++ (Tiwari et al., NeurIPS 2023)."""
    import banditpam

    search = banditpam.KMedoids(n_medoids=k)
    search.seed = seed
    search.fit(X, "L2")
    return search.medoids.astype(np.int64)


def extra(X: np.ndarray, k: int, seed: int) -> Any:
    """Alternates between labels and medoids; its last version needs NumPy 1."""
    from sklearn_extra.cluster import KMedoids as Theirs

    return Theirs(k, random_state=seed).fit(X).medoid_indices_


BESIDE: dict[str, tuple[str, int, Callable[..., Any]]] = {
    "FasterPAM": ("kmedoids", 20_000, fasterpam),
    "OneBatchPAM": ("onebatch", 10**7, one_batch),
    "BanditPAM++": ("banditpam", 10_000, bandit),
    "scikit-learn-extra": ("sklearn_extra", 20_000, extra),
}
"""By name: the module, the most rows it is asked for here, and how."""


def measured(call: Callable[..., Any], X: np.ndarray, k: int, seeds: int) -> tuple[float, float]:
    """Mean cost, in floats of 64 bits, and mean seconds of the processor."""
    cost = seconds = 0.0
    for seed in range(seeds):
        start = time.process_time()
        medoids = X[call(X, k, seed)]
        seconds += time.process_time() - start
        for block in np.array_split(X, len(X) // 10_000 + 1):
            square = (block**2).sum(1)[:, None] - 2 * block @ medoids.T + (medoids**2).sum(1)
            cost += float(np.sqrt(np.maximum(square.min(1), 0)).sum())
    return cost / seeds, seconds / seeds


def main() -> None:
    """Print a row for each size and package: means over seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="2000,10000")
    parser.add_argument("-k", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--beside", default=",".join(BESIDE))
    asked = parser.parse_args()
    ours(points(6_000, 0), asked.k, 0)
    print("| rows | k | | cost, of ours | seconds | of ours |")
    print("| ---: | ---: | --- | ---: | ---: | ---: |")
    for n in map(int, asked.sizes.split(",")):
        X = points(n, 1)
        mine, spent = measured(ours, X, asked.k, asked.seeds)
        print(f"| {n:,} | {asked.k} | ours | 1 | {spent:.2f} | 1 |", flush=True)
        for name in asked.beside.split(","):
            module, most, call = BESIDE[name]
            if find_spec(module) and n <= most:
                cost, seconds = measured(call, X, asked.k, asked.seeds)
                reported = f"{cost / mine:.4f} | {seconds:.2f} | {seconds / spent:.2f}"
                print(f"| {n:,} | {asked.k} | {name} | {reported} |", flush=True)


if __name__ == "__main__":
    main()
