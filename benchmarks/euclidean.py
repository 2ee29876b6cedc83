"""The default method in a box of R^d beside scikit-learn, on the sets of points of
`benchmarks/euclidean.md`.

Cost of the private centers on the records / best of ten runs of scikit-learn's KMeans; means of
several runs, each with fresh noise. For the k-median: cost / the best of three k-median runs on the
records (Lloyd starts, Weiszfeld steps, not private). CPU seconds are those of the process, after a
first call that fills caches, over those of one ``KMeans(n_init="auto")`` run, once with
scikit-learn's threads as they come, once with one thread. The sets of `HELD_OUT` were first run
when all constants of the method stood.

    python -m benchmarks euclidean --sets gm-d2-k8 s1 --epsilons 1 --runs 5
    python -m benchmarks euclidean --sets gm-d2-k8 skin --epsilons 0.25 1 --powers 2 --loose 100
    --away 50 --records 20000
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

DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data")) / "points"
Points = NDArray[np.float64]


def sipu(name: str, scale: float = 1e6) -> Points:
    """A set of the SIPU collection scaled by a public constant into [0, 1]²."""
    with gzip.open(DATA / "sipu" / f"{name}.data.gz", "rt") as file:
        return np.loadtxt(file) / scale


def skin() -> Points:
    """Colors of UCI's skin set, scaled by 255 into [0, 1]³."""
    with gzip.open(DATA / "uci" / "Skin_NonSkin.txt.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1)[:, :3] / 255.0


def uber() -> Points:
    """Pick-ups in New York, longitude and latitude, one record each; a box of 4 by 3 degrees scaled
    into [0, 1]².
    """
    with gzip.open(DATA.parent / "demand" / "deckgl_uber_pickup_nyc.json.gz", "rt") as file:
        rows = np.array(json.load(file))
    return np.clip((rows[:, :2] + [76, 39]) / [4, 3], 0, 1)


def towns() -> Points:
    """Nodes of the road network of Coquimbo, Chile, longitude and latitude, in the box of the whole
    country, scaled into [0, 1]².
    """
    rows = np.genfromtxt(
        DATA.parent / "roads" / "coquimbo" / "nodes.csv", delimiter=",", skip_header=1
    )
    return np.clip((rows[:, 1:] + [76, 56]) / [10, 39], 0, 1)


def lattice(n: int = 50_000) -> Points:
    """Hundred equal clusters on a lattice, nearly touching, shape (n, 2)."""
    rng = np.random.default_rng(11)
    return np.clip((rng.integers(0, 10, (n, 2)) + 0.5 + rng.normal(0, 0.16, (n, 2))) / 10, 0, 1)


def curve(n: int = 100_000) -> Points:
    """Hundred equal clusters along a sine, in a small part of the box, shape (n, 2)."""
    rng = np.random.default_rng(15)
    at = rng.integers(0, 100, n)
    middle = np.c_[(at + 0.5) / 100, 0.5 + 0.4 * np.sin(at * np.pi / 16)]
    return np.clip(middle + rng.normal(0, 0.0025, (n, 2)), 0, 1)


def uneven(n: int = 50_000) -> Points:
    """Twelve clusters in space whose sizes fall as 1 / rank and whose widths differ eightfold,
    shape (n, 3).
    """
    rng = np.random.default_rng(12)
    which = rng.choice(12, n, p=1 / np.arange(1, 13) / (1 / np.arange(1, 13)).sum())
    width = 0.005 * 2.0 ** rng.uniform(0, 3, 12)
    return np.clip(
        rng.uniform(0.1, 0.9, (12, 3))[which] + width[which, None] * rng.normal(size=(n, 3)), 0, 1
    )


def rings(n: int = 50_000) -> Points:
    """Three rings around one another, of equally many points, shape (n, 2)."""
    rng = np.random.default_rng(13)
    angle, radius = (
        rng.uniform(0, 2 * np.pi, n),
        rng.choice([0.1, 0.25, 0.4], n) + rng.normal(0, 0.01, n),
    )
    return np.clip(0.5 + radius[:, None] * np.c_[np.cos(angle), np.sin(angle)], 0, 1)


def incomes(n: int = 30_000) -> Points:
    """One coordinate with a heavy tail: lognormal, in hundred thousands, up to a million, shape (n,
    1).
    """
    return np.minimum(np.exp(np.random.default_rng(14).normal(-1, 0.8, (n, 1))), 10.0)


HELD_OUT = ("uber-k10", "uber-k30", "towns", "lattice", "uneven", "rings", "incomes")
SETS: dict[str, tuple[Callable[[], Points], int, tuple[float, float]]] = {
    "gm-d2-k8": (lambda: gaussian_mixture(d=2, k=8), 8, (-1, 1)),
    "gm-d2-k20": (lambda: gaussian_mixture(d=2, k=20), 20, (-1, 1)),
    "gm-d10-k8": (lambda: gaussian_mixture(d=10, k=8), 8, (-1, 1)),
    "gm-d10-k20": (lambda: gaussian_mixture(d=10, k=20), 20, (-1, 1)),
    "gw-d10-k8": (lambda: gaussian_mixture(d=10, k=8, std=0.15), 8, (-1, 1)),
    **{name: (lambda name=name: sipu(name), 15, (0, 1)) for name in ("s1", "s2", "s3", "s4")},
    "a1": (lambda: sipu("a1", 2**16), 20, (0, 1)),
    "a2": (lambda: sipu("a2", 2**16), 35, (0, 1)),
    "a3": (lambda: sipu("a3", 2**16), 50, (0, 1)),
    "unbalance": (lambda: sipu("unbalance"), 8, (0, 1)),
    "skin": (skin, 10, (0, 1)),
    "uber-k10": (uber, 10, (0, 1)),
    "uber-k30": (uber, 30, (0, 1)),
    "towns": (towns, 20, (0, 1)),
    "lattice": (lattice, 100, (0, 1)),
    "curve": (curve, 100, (0, 1)),
    "uneven": (uneven, 12, (0, 1)),
    "rings": (rings, 15, (0, 1)),
    "incomes": (incomes, 6, (0, 10)),
}


def public_median(points: Points, start: Points) -> Points:
    """k-median of public points: Weiszfeld's steps from given centers."""
    centers = start.copy()
    for _ in range(25):
        blocks = np.array_split(points, len(points) // 8192 + 1)
        square = np.concatenate([((block[:, None] - centers) ** 2).sum(axis=2) for block in blocks])
        label = square.argmin(axis=1)
        weight = 1 / np.maximum(np.sqrt(square[np.arange(len(points)), label]), 1e-9)
        total = np.bincount(label, weight, len(centers))
        sums = np.stack(
            [np.bincount(label, weight * column, len(centers)) for column in points.T], axis=1
        )
        centers = np.where(total[:, None] > 0, sums / np.maximum(total, 1e-300)[:, None], centers)
    return centers


def box(points: Points, low: float, high: float, loose: float, away: float) -> mdp.EuclideanSpace:
    """The public box; or one `loose` times as wide whose middle is `away` times half the box's
    width off in every coordinate.
    """
    middle, half = (low + high) / 2, (high - low) / 2
    return mdp.EuclideanSpace(
        *(np.full(points.shape[1], middle + away * half + side * loose * half) for side in (-1, 1))
    )


def reference(points: Points, k: int) -> tuple[float, float]:
    """CPU seconds of one run of scikit-learn's default, with threads as they come and with one."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    seconds = []
    for limit in (None, 1):
        with threadpool_limits(limit):
            KMeans(k, n_init="auto", random_state=0).fit(points)
            start = time.process_time()
            KMeans(k, n_init="auto", random_state=0).fit(points)
            seconds.append(time.process_time() - start)
    return seconds[0], seconds[1]


def measured(name: str, args: argparse.Namespace) -> dict[str, object]:
    """Ratios and times of one set."""
    from sklearn.cluster import KMeans

    make, k, (low, high) = SETS[name]
    points = make()
    if args.records and args.records < len(points):
        points = points[np.random.default_rng(0).permutation(len(points))[: args.records]]
    space = box(points, low, high, args.loose, args.away)
    demand = mdp.PrivateDemand(space, points)
    fitted = KMeans(k, n_init=10, random_state=0).fit(points)
    threads, alone = reference(points, k)
    found: dict[str, object] = {
        "set": name,
        "n": len(points),
        "k": k,
        "sklearn_cpu": round(threads, 3),
        "one_thread": round(alone, 3),
    }
    best = {2: fitted.inertia_}
    if 1 in args.powers:
        starts = [fitted.cluster_centers_] + [
            KMeans(k, n_init=1, random_state=i).fit(points).cluster_centers_ for i in (1, 2)
        ]
        best[1] = min(cost(points, public_median(points, s), 1) for s in starts)
    for power in args.powers:
        ask = (mdp.k_median, mdp.k_means)[power - 1]
        ask(space, demand, k, epsilon=1, delta=args.delta)
        for epsilon in args.epsilons:
            start = time.process_time()
            answers = [
                ask(space, demand, k, epsilon=epsilon, delta=args.delta, seed=run).centers
                for run in range(args.runs)
            ]
            cpu = (time.process_time() - start) / args.runs
            ratios = [cost(points, centers, power) / best[power] for centers in answers]
            found[f"power {power}, epsilon {epsilon}"] = {
                "ratio": round(float(np.mean(ratios)), 4),
                "error": round(float(np.std(ratios) / len(ratios) ** 0.5), 4),
                "worst": round(max(ratios), 4),
                "cpu": round(cpu, 3),
                "cpu_ratio": round(cpu / threads, 2),
                "cpu_ratio_one_thread": round(cpu / alone, 2),
            }
            print(name, power, epsilon, found[f"power {power}, epsilon {epsilon}"], file=sys.stderr)
    return found


def main() -> None:
    """Measure, and print one JSON object a set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.25, 0.5, 1.0, 2.0])
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--powers", nargs="+", type=int, default=[2, 1], choices=[1, 2])
    parser.add_argument(
        "--records", type=int, default=0, help="at most so many of them, drawn at random; 0: all"
    )
    parser.add_argument(
        "--loose", type=float, default=1.0, help="state a box so many times as wide"
    )
    parser.add_argument(
        "--away", type=float, default=0.0, help="and so many half widths off in every coordinate"
    )
    args = parser.parse_args()
    for name in args.sets:
        print(json.dumps(measured(name, args)), flush=True)


if __name__ == "__main__":
    main()
