"""The default method in boxes of many dimensions beside scikit-learn: the table of
`benchmarks/subspace.md`.

Cost of the private centers on the records / best of ten runs of scikit-learn's KMeans; means of
several runs, each with fresh noise and other public coins. For the k-median: cost / that of
Weiszfeld's steps on the records from scikit-learn's centers. CPU seconds are those of the process,
after a first call, over those of one ``KMeans(n_init="auto")``, the mean of three.

    python -m benchmarks subspace --sets digits shuttle --epsilons 1 --runs 5
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from benchmarks.frame.costs import cost
from benchmarks.sets.point_sets import gaussian_mixture
from metricdp.solvers.lloyd import converged

DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data")) / "points"
Points = NDArray[np.float64]


def digits() -> Points:
    """scikit-learn's digits: 8 × 8 pixels, 0 to 16."""
    from sklearn.datasets import load_digits

    return np.asarray(load_digits().data, dtype=np.float64)


def mnist() -> Points:
    """The 10,000 test images of MNIST: 28 × 28 pixels, 0 to 255."""
    with gzip.open(DATA / "mnist/t10k-images-idx3-ubyte.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784).astype(np.float64)


def shuttle() -> Points:
    """UCI's Shuttle, both parts: 58,000 × 9, in raw units; a few outliers are a thousand times as
    far out as most records.
    """
    with gzip.open(DATA / "uci/shuttle.trn.gz", "rt") as file:
        lines = file.read().splitlines() + (DATA / "uci/shuttle.tst").read_text().splitlines()
    return np.array(
        [line.replace(",", " ").split()[:9] for line in lines if line.strip()], dtype=np.float64
    )


def shuttle_scaled() -> Points:
    """Every column scaled to [0, 1] by its extremes, as constants that we take as known: most
    columns then fill a sliver of it.
    """
    points = shuttle()
    return (points - points.min(axis=0)) / np.ptp(points, axis=0)


SETS: dict[str, tuple[Callable[[], Points], int, tuple[float, float]]] = {
    "gm-d10-k8": (lambda: gaussian_mixture(d=10, k=8), 8, (-1, 1)),
    "gm-d10-k20": (lambda: gaussian_mixture(d=10, k=20), 20, (-1, 1)),
    "gw-d10-k8": (lambda: gaussian_mixture(d=10, k=8, std=0.15), 8, (-1, 1)),
    "gm-d10-k8-loose": (lambda: 50 + gaussian_mixture(d=10, k=8), 8, (-100, 100)),
    "digits": (digits, 10, (0, 16)),
    "shuttle-scaled": (shuttle_scaled, 10, (0, 1)),
    "shuttle-clipped": (lambda: shuttle().clip(-150, 150), 10, (-150, 150)),
    "mnist": (mnist, 10, (0, 255)),
}


def measured(
    name: str, epsilons: list[float], delta: float, runs: int, powers: list[int]
) -> dict[str, object]:
    """Ratios and times of one set."""
    from sklearn.cluster import KMeans

    make, k, (low, high) = SETS[name]
    points = make()
    space = mdp.EuclideanSpace([low] * points.shape[1], [high] * points.shape[1])
    demand = mdp.PrivateDemand(space, points)
    fitted = KMeans(k, n_init=10, random_state=0).fit(points)
    start = time.process_time()
    for seed in range(3):
        KMeans(k, n_init="auto", random_state=seed).fit(points)
    reference = (time.process_time() - start) / 3
    best = {2: float(fitted.inertia_)}
    if 1 in powers:
        best[1] = cost(
            points,
            converged(points, np.ones(len(points)), fitted.cluster_centers_, power=1, steps=20),
            1,
        )
    mean = cost(points, points.mean(axis=0)[None], 2) / best[2]
    found: dict[str, object] = {
        "set": name,
        "n": len(points),
        "d": points.shape[1],
        "k": k,
        "delta": delta,
        "one mean": round(mean, 3),
    }
    found["sklearn_cpu"] = round(reference, 3)
    for power in powers:
        ask = (mdp.k_median, mdp.k_means)[power - 1]
        ask(space, demand, k, epsilon=1, delta=delta)
        for epsilon in epsilons:
            start = time.process_time()
            answers = [
                ask(space, demand, k, epsilon=epsilon, delta=delta, seed=run) for run in range(runs)
            ]
            cpu = (time.process_time() - start) / runs
            ratios = [cost(points, answer.centers, power) / best[power] for answer in answers]
            row = {
                "design": answers[0].release.design.name,
                "ratio": round(float(np.mean(ratios)), 4),
                "worst": round(max(ratios), 4),
                "cpu": round(cpu, 3),
                "cpu_ratio": round(cpu / reference, 2),
            }
            found[f"power {power}, epsilon {epsilon}"] = row
            print(name, delta, power, epsilon, row, file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Measure, and print one JSON object a set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.25, 0.5, 1.0, 2.0])
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--powers", nargs="+", type=int, default=[2, 1], choices=[1, 2])
    args = parser.parse_args()
    for name in args.sets:
        print(
            json.dumps(measured(name, args.epsilons, args.delta, args.runs, args.powers)),
            flush=True,
        )


if __name__ == "__main__":
    main()
