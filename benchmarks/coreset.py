"""Private coresets of New York pick-ups, by the experiments of Feldman, Xiang, Zhu & Rus (IPSN
2017, Section 5): `benchmarks/coreset.md`.

100,000 weighted pick-up points, those in the paper's box repeated by their counts, drawn with
replacement and jittered by 0.0005 degrees (some 50 m) to n records. Error: (cost - cost*) / cost*,
squared distances, cost* the best known centers of the same records: k-means without privacy, or a
private answer where that is better. delta = 1e-6 for the published rounds, replace-one neighbors.

    python -m benchmarks coreset errors --records 100000 --runs 5
    python -m benchmarks coreset random --records 100000
    python -m benchmarks coreset times
    python -m benchmarks coreset table2
    python -m benchmarks coreset rec-concave
    python -m benchmarks coreset centers --records 20000 --runs 3
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from benchmarks.methods.printed_coreset import PrintedCoreset
from benchmarks.sets.point_sets import pickups
from metricdp.kernels.points import nearest_centers
from metricdp.solvers.lloyd import converged, lloyd

SPACE = mdp.EuclideanSpace([0, 0], [1, 1])
DELTA = "1/1000000"
Points = NDArray[np.float64]


def cost(points: Points, centers: Points, weights: Points | None = None) -> float:
    """(Weighted) sum of squared distances to the nearest center."""
    square = nearest_centers(points, centers)[1]
    return float(square.sum() if weights is None else square @ weights)


def public_means(points: Points, k: int, starts: int = 8) -> Points:
    """k-means without privacy: the best of several starts on a sample, improved on all records."""
    sample = points[:100_000]
    return converged(
        points, np.ones(len(points)), lloyd(sample, np.ones(len(sample)), k, starts=starts, seed=1)
    )


METHODS = {
    "default": mdp.methods.Coreset(),
    "published": PrintedCoreset(),
    "published, 128² cells": PrintedCoreset(cells=128**2),
}


def answered(
    demand: mdp.PrivateDemand, name: str, k: int, epsilon: float, relation: str = "replace-one"
) -> tuple[Any, float]:
    """A result, and its CPU seconds."""
    ledger = mdp.Ledger(epsilon, DELTA, neighboring=relation)
    delta = 0 if name == "default" else DELTA
    start = time.process_time()
    result = mdp.k_means(
        SPACE, demand, k, epsilon=epsilon, delta=delta, ledger=ledger, method=METHODS[name]
    )
    return result, time.process_time() - start


def errors(n: int, runs: int, epsilons: list[float], relation: str) -> None:
    """Error against epsilon for all methods, and of the small coreset of the default: means and the
    worst of several runs.
    """
    points = pickups(n)
    demand = mdp.PrivateDemand(SPACE, points)
    for k in (1, 5, 10):
        costs: dict[tuple[str, float], list[float]] = {}
        sizes: dict[tuple[str, float], int] = {}
        least = cost(points, public_means(points, k))
        for epsilon in epsilons:
            for name in METHODS:
                for _ in range(runs):
                    result, _seconds = answered(demand, name, k, epsilon, relation)
                    costs.setdefault((name, epsilon), []).append(cost(points, result.centers))
                    sizes[name, epsilon] = len(result.release.coreset().weights)
                    if name == "default":
                        small = result.release.coreset(k)
                        centers = lloyd(small.points, small.weights, k, starts=8)
                        costs.setdefault(("default, small coreset", epsilon), []).append(
                            cost(points, centers)
                        )
                        sizes["default, small coreset", epsilon] = len(small.weights)
        best = min(least, min(min(some) for some in costs.values()))
        print(
            f"n = {n:,}, k = {k}, {relation}: error of k-means without privacy "
            f"{least / best - 1:.4f}"
        )
        for name in ("default", "default, small coreset", *list(METHODS)[1:]):
            mean, worst = (
                [judge(costs[name, e]) / best - 1 for e in epsilons] for judge in (np.mean, np.max)
            )
            reported = [
                f"{mean[i]:.4f} ({worst[i]:.3f}), {sizes[name, e]}" for i, e in enumerate(epsilons)
            ]
            print(f"| {name} | " + " | ".join(reported) + " |", flush=True)


def random_centers(n: int, epsilon: float, runs: int, sets: int = 200) -> None:
    """Coreset error |cost on the coreset / cost on the records - 1| for random sets of centers,
    uniform or drawn from the records.
    """
    points = pickups(n)
    demand = mdp.PrivateDemand(SPACE, points)
    for k in (1, 5, 10):
        rng, coresets = np.random.default_rng(k), []
        for name in list(METHODS) * runs:
            release = answered(demand, name, k, epsilon)[0].release
            coresets.append((name, release.coreset()))
            if name == "default":
                coresets.append(("default, small coreset", release.coreset(k)))
        for kind in ("uniform", "from the records"):
            found: dict[str, list[float]] = {}
            for _ in range(sets):
                centers = (
                    rng.random((k, 2)) if kind == "uniform" else points[rng.integers(n, size=k)]
                )
                true = cost(points, centers)
                for name, (places, weights) in coresets:
                    found.setdefault(name, []).append(
                        abs(cost(places, centers, weights) / true - 1)
                    )
            for name, some in found.items():
                reported = (
                    f"{np.median(some):.4f} | {np.quantile(some, 0.95):.4f} | {np.max(some):.4f}"
                )
                print(f"| {k} | {kind} | {name} | {reported} |", flush=True)


def times(epsilon: float, k: int) -> None:
    """CPU seconds of a call on one core against n, and the growth exponent over four sizes."""
    sizes = [125_000, 250_000, 500_000, 1_000_000]
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for n in sizes:
        points = pickups(n)
        demand = mdp.PrivateDemand(SPACE, points)
        for name in METHODS:
            found[name].append(min(answered(demand, name, k, epsilon)[1] for _ in range(3)))
        print(n, {name: round(some[-1], 3) for name, some in found.items()}, flush=True)
    for name, some in found.items():
        print(
            f"| {name} | "
            + " | ".join(f"{s:.2f}" for s in some)
            + f" | {np.polyfit(np.log(sizes), np.log(some), 1)[0]:.2f} |"
        )


def table2(runs: int) -> None:
    """Error at the smallest epsilon with which the paper's own program ran (its Table 2)."""
    for n, least in (
        (100_000, (0.02, 0.8, 3.5)),
        (500_000, (0.01, 0.3, 1.0)),
        (1_000_000, (0.007, 0.15, 0.6)),
    ):
        points = pickups(n)
        demand = mdp.PrivateDemand(SPACE, points)
        for k, epsilon in zip((1, 5, 10), least):
            best = cost(points, public_means(points, k, starts=6))
            reported = []
            for name in ("default", "published"):
                some = [
                    cost(points, answered(demand, name, k, epsilon)[0].centers) for _ in range(runs)
                ]
                reported.append(f"{np.mean(some) / best - 1:.4f} ({np.max(some) / best - 1:.3f})")
            print(f"| {n:,} | {k} | {epsilon} | {' | '.join(reported)} |", flush=True)


def concave(n: int, runs: int) -> None:
    """Records that the printed constants need; and RecConcave with a promise of its own beside the
    exponential mechanism.
    """
    from benchmarks.methods.rec_concave import published_promise, records_needed

    for k in (1, 5, 10):
        print(
            f"| {k} | "
            + " | ".join(f"{records_needed(k, epsilon, 1e-6, 2):.1e}" for epsilon in (0.5, 1, 3.5))
            + " |"
        )
    print(
        f"promise of one round at epsilon 1/50, delta 1e-8, 1,000 cells a side: "
        f"{published_promise(1000, 1 / 50, 1e-8):.1e} records"
    )
    points = pickups(n)
    demand = mdp.PrivateDemand(SPACE, points)
    for k in (1, 5):
        best = cost(points, public_means(points, k))
        for radius, promise in (("exponential", None), ("rec-concave", 300), ("rec-concave", 3000)):
            method = PrintedCoreset(cells=64**2, radius=radius, promise=promise)
            for epsilon in (0.5, 2):
                some, start = [], time.process_time()
                for _ in range(runs):
                    ledger = mdp.Ledger(epsilon, DELTA, neighboring="replace-one")
                    centers = mdp.k_means(
                        SPACE, demand, k, epsilon=epsilon, delta=DELTA, ledger=ledger, method=method
                    ).centers
                    some.append(cost(points, centers))
                seconds = (time.process_time() - start) / runs
                print(
                    f"| {k} | {radius} | {promise} | {epsilon} | {np.mean(some) / best - 1:.3f} "
                    f"| {seconds:.1f} s |",
                    flush=True,
                )


def centers(n: int, runs: int, k: int, epsilons: list[float]) -> None:
    """Error of both ways of GOOD-CENTER, from two to nine dimensions."""
    from benchmarks.sets.point_sets import POINT_SETS

    worlds = {"pick-ups": (SPACE, pickups(n))}
    for name in ("skin", "shuttle"):
        points = POINT_SETS[name].load(n)
        low, high = POINT_SETS[name].bounds
        d = points.shape[1]
        worlds[name] = mdp.EuclideanSpace([low] * d, [high] * d), points
    for name, (space, points) in worlds.items():
        demand = mdp.PrivateDemand(space, points)
        best = cost(points, public_means(points, k))
        for reported, options in (
            ("cells", {}),
            ("projection", {"center": "projection"}),
            ("projection to 3", {"center": "projection", "images": 3}),
        ):
            if options.get("images", 0) >= space.dimension:
                continue
            method = PrintedCoreset(cells=1 << 14, **options)
            row, start = [], time.process_time()
            for epsilon in epsilons:
                some = []
                for seed in range(runs):
                    result = mdp.k_means(
                        space, demand, k, epsilon=epsilon, delta=DELTA, method=method, seed=seed
                    )
                    some.append(cost(points, result.centers) / best - 1)
                row.append(f"{np.mean(some):.3f} ({max(some):.3f})")
            seconds = (time.process_time() - start) / (runs * len(epsilons))
            print(
                f"| {name}, d = {space.dimension} | {reported} | {' | '.join(row)} "
                f"| {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", choices=("errors", "random", "times", "table2", "rec-concave", "centers")
    )
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.2, 0.5, 1, 2])
    parser.add_argument("--neighboring", default="replace-one")
    parser.add_argument("-k", type=int, default=10)
    args = parser.parse_args()
    if args.what == "errors":
        errors(args.records, args.runs, args.epsilons, args.neighboring)
    elif args.what == "random":
        random_centers(args.records, args.epsilons[-1], args.runs)
    elif args.what == "times":
        times(0.5, args.k)
    elif args.what == "table2":
        table2(args.runs)
    elif args.what == "centers":
        centers(args.records, args.runs, args.k, args.epsilons)
    else:
        concave(args.records, args.runs)
